import { readOptions } from '../shell/options.ts'
import { anyText, empty, fitsEveryName, obscured, Text, unknown } from '../shell/text.ts'
import type { Follow } from './call.ts'

/** Tests and options that narrow a search by nothing that matters here. Any other one lets through a part. */
const wideTests =
  /^-(?:type|maxdepth|mindepth|depth|d|xdev|mount|follow|daystart|noleaf|regextype|prune|quit|printf|fprint0?|fls)$/
const nameTests = /^-(?:i?(?:name|lname|path|wholename|regex))$/
const withoutValue = /^-(?:empty|executable|nogroup|nouser|readable|writable)$/

/** More roots and names are not put together. */
const maxTargets = 10_000
/** Stands for what a search finds by something else than its name. */
const found = new Text('found')
const removal = [new Text('rm'), new Text('-r')]

/**
 * `find roots tests actions`: an action gets the roots while no test has narrowed the search, and all the
 * names that were asked for afterwards.
 */
export const find: Follow = ({ args: own, scope, shell }) => {
  const args = own.filter((word) => !word.test(/^-(?:[HLP]|O\d*)$/))
  const end = args.findIndex((word) => word.test(/^[-(!,]/))
  const given = end < 0 ? args : args.slice(0, end)
  const roots = given.length > 0 ? given : [new Text('.')]
  const names: Text[] = []
  /** Whether no test has narrowed the search since its beginning, or since `-o`. */
  let isWide = true
  let isPrinted = true
  const outputs: Text[] = []
  const targets = (): Text[] => {
    if (isWide) return [...roots]
    if (roots.length * names.length > maxTargets) return [obscured]
    return roots.flatMap((root) => names.map((name) => Text.join([root, '/', name])))
  }
  const narrow = (name: Text): void => {
    names.push(name)
    isWide = false
  }
  for (let at = end < 0 ? args.length : end; at < args.length; at++) {
    const word = args[at]?.chars ?? ''
    const next = args[at + 1] ?? empty
    if (word === '!' || word === '-not') at += next.test(withoutValue) ? 1 : 2
    else if (/^-or?$|^,$/.test(word)) isWide = true
    else if (nameTests.test(word)) {
      at++
      if (!matchesAll(word, next)) narrow(word.includes('regex') ? found : next.activated())
    } else if (word === '-delete') {
      isPrinted = false
      shell.runWords([...removal, ...targets()], scope.clone(), null)
    } else if (/^-(?:exec|ok)(?:dir)?$/.test(word)) {
      isPrinted = false
      const words: Text[] = []
      for (at++; at < args.length && !args[at]?.test(/^\\?[;+]$/); at++)
        words.push(args[at] ?? empty)
      for (const target of targets()) shell.runWords(fill(words, target), scope.clone(), null)
    } else if (/^-(?:print0?|ls)$/.test(word)) outputs.push(printed(targets(), isWide))
    else if (/^-[a-z]/.test(word) && !wideTests.test(word) && isWide) narrow(found)
  }
  return isPrinted && outputs.length === 0 ? printed(targets(), isWide) : Text.join(outputs)
}

const matchesAll = (test: string, pattern: Text): boolean =>
  test.includes('regex') ? pattern.test(/^[.*/\\^$()+]*$/) : fitsEveryName(pattern.activated())

/** What is started for one file. On every file below a folder, a plain rm removes the folder. */
function fill(words: readonly Text[], target: Text): readonly Text[] {
  const filled = words.map((word) => word.replaceAll('{}', target))
  const isPlainRemoval = filled[0]?.test(/(?:^|\/)(?:rm|unlink|shred)$/)
  return isPlainRemoval ? [...removal, ...filled.slice(1)] : filled
}

/** Lines as another command would read them; a whole tree shows by its two levels. */
const printed = (targets: readonly Text[], isTree: boolean): Text =>
  Text.join(
    targets.flatMap((target) =>
      isTree ? [target, '\n', target, '/', anyText, '/', anyText, '\n'] : [target, '\n'],
    ),
  )

/** `fd pattern folder -x command`, read as the `find` that it stands for. */
export const fd: Follow = (call) => {
  const at = call.args.findIndex((word) => word.test(/^(?:-[xX]|--exec|--exec-batch)$/))
  if (at < 0) return unknown
  const { operands } = readOptions(call.args.slice(0, at), {
    shortValues: 'eEtdSocj',
    longValues: 'extension exclude type max-depth size owner',
  })
  const [pattern = empty, ...folders] = operands
  const isEverything = pattern.test(/^[.^$*]*$/)
  const name = pattern.replace(/[\\^$]/g, () => '')
  const tests = isEverything ? [] : [new Text('-name'), name]
  const action = [new Text('-exec'), ...call.args.slice(at + 1), new Text('{}')]
  return find({ ...call, args: [...folders, ...tests, ...action] })
}

/** Runs its command on the words that it reads. */
export const xargs: Follow = ({ args, scope, stdin, shell }) => {
  const options = readOptions(args, {
    shortValues: 'adEILnPs',
    longValues: 'arg-file delimiter max-lines max-args max-procs max-chars process-slot-var',
    stopsAtOperand: true,
  })
  const command = options.operands.length > 0 ? options.operands : [new Text('echo')]
  const byLine = options.has('0', 'null', 'd', 'delimiter', 'I', 'i', 'replace')
  const items = readItems(stdin, byLine ? /[\n\0]/ : /\s+/)
  // A plain rm of every file of a tree does what rm -r does to the tree.
  const isTree = items.some((item) => item.endsWith('/*/*') && item.isGlob)
  const [name = empty, ...rest] = command
  const words = isTree && name.test(/(?:^|\/)rm$/) ? [...removal, ...rest] : command
  const place =
    options.valueOf('I', 'replace')?.chars ?? (options.has('i', 'replace') ? '{}' : undefined)
  if (place === undefined) return shell.runWords([...words, ...items], scope.clone(), null)
  return Text.join(
    items.map((item) =>
      shell.runWords(
        words.map((word) => word.replaceAll(place, item)),
        scope.clone(),
        null,
      ),
    ),
  )
}

function readItems(stdin: Text | null, separator: RegExp): Text[] {
  if (stdin === null) return [unknown]
  const items = stdin.split(separator).filter(({ length }) => length > 0)
  return items.length > 500 ? [...items.slice(0, 500), obscured] : items
}
