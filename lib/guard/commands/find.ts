import { readOptions } from '../shell/options.ts'
import { anyText, empty, obscured, quote, Text, unknown } from '../shell/text.ts'
import type { Follow } from './call.ts'

const ignoredArgument = /^-(?:type|maxdepth|mindepth|regextype|printf|fprint0?|fls)$/
/** Tests that let a part through which no name describes: by age, size, owner. */
const partTests =
  /^-(?:[acm](?:min|time)|[ac]?newer.*|size|user|group|uid|gid|perm|links|used|fstype|context|xtype|inum|samefile)$/
const bareTests = /^-(?:nouser|nogroup|executable|readable|writable|empty)$/
const nameTests = /^-(?:i?(?:name|lname|path|wholename|regex))$/

/** More roots and names are not put together. */
const maxTargets = 10_000
/** Stands for what a search finds by something else than its name. */
const found = new Text('found')
const removal = [new Text('rm'), new Text('-r')]

/**
 * `find roots tests actions`: an action gets the roots while no test has narrowed the search, and the
 * names that were asked for afterwards.
 */
export const find: Follow = ({ args: own, scope, shell }) => {
  const args = own.filter((word) => !word.test(/^-(?:[HLP]|O\d*)$/))
  const end = args.findIndex((word) => word.test(/^[-(!,]/))
  const given = end < 0 ? args : args.slice(0, end)
  const roots = given.length > 0 ? given : [new Text('.')]
  /** The names that the tests so far let through; null: everything. */
  let names: readonly Text[] | null = null
  let depth = 0
  let isAlternative = false
  let isPrinted = true
  const outputs: Text[] = []
  const targets = (): Text[] => {
    const passed = names
    if (passed === null) return [...roots]
    if (roots.length * passed.length > maxTargets) return [obscured]
    return roots.flatMap((root) => passed.map((name) => below(root, name)))
  }
  const narrow = (name: Text | null): void => {
    if (isAlternative) names = names && name && [...names, name]
    else if (name && (names === null || names.includes(found))) names = [name]
    isAlternative = false
  }
  for (let at = end < 0 ? args.length : end; at < args.length; at++) {
    const word = args[at]?.chars ?? ''
    const next = args[at + 1] ?? empty
    if (word === '(') depth++
    else if (word === ')') depth--
    else if (word === '!' || word === '-not') at += next.test(bareTests) ? 1 : 2
    else if (/^-or?$|^,$/.test(word)) {
      if (depth > 0) isAlternative = true
      else names = null
    } else if (nameTests.test(word)) {
      at++
      narrow(isWide(word, next) ? null : word.includes('regex') ? found : next.activated())
    } else if (partTests.test(word) || bareTests.test(word)) {
      if (partTests.test(word)) at++
      // An empty folder is no loss, wherever it is.
      narrow(word === '-empty' ? new Text('empty') : names === null ? found : null)
    } else if (ignoredArgument.test(word)) {
      at++
      narrow(null)
    } else if (word === '-delete') {
      isPrinted = false
      shell.runWords([...removal, ...targets()], scope.clone(), null)
    } else if (/^-(?:exec|ok)(?:dir)?$/.test(word)) {
      isPrinted = false
      const words: Text[] = []
      for (at++; at < args.length && !args[at]?.test(/^\\?[;+]$/); at++)
        words.push(args[at] ?? empty)
      for (const target of targets()) shell.runWords(fill(words, target), scope.clone(), null)
    } else if (/^-(?:print0?|ls)$/.test(word)) outputs.push(printed(targets(), names === null))
  }
  return isPrinted && outputs.length === 0 ? printed(targets(), names === null) : Text.join(outputs)
}

const isWide = (test: string, pattern: Text): boolean =>
  test.includes('regex')
    ? pattern.test(/^[.*/\\^$()+]*$/)
    : ['src', 'a', 'README.md'].every((name) => pattern.activated().matches(name))

/** A search by age in the root or a home may find anything there. */
function below(root: Text, name: Text): Text {
  if (name === found && root.test(/^(?:\/(?!tmp|var)[^/]*|~|\/home\/[^/]*)\/*$/)) return root
  return name.startsWith(root.chars) ? name : Text.join([root, '/', name])
}

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

/** `fd pattern folder -x command`: the command for the folder, or for one name in it. */
export const fd: Follow = ({ args, scope, shell }) => {
  const at = args.findIndex((word) => word.test(/^(?:-[xX]|--exec|--exec-batch)$/))
  const options = readOptions(at < 0 ? args : args.slice(0, at), {
    shortValues: 'eEtdSocj',
    longValues: 'extension exclude type max-depth size owner search-path base-directory',
  })
  const [pattern = empty, ...folders] = options.operands
  const roots = [...folders, ...options.valuesOf('search-path', 'base-directory')]
  const isEverything =
    options.values.every(({ name }) => !'eEtS'.includes(name)) && pattern.test(/^[.^$*]*$/)
  const name = isEverything ? anyText : pattern.replace(/[\\^$]/g, () => '')
  const targets = (roots.length > 0 ? roots : [new Text('.')]).map((root) =>
    Text.join([root, '/', name]),
  )
  if (at < 0) return Text.join(targets.flatMap((target) => [target, '\n']))
  const words = args.slice(at + 1)
  for (const target of targets) {
    const filled = words.map((word) => word.replaceAll('{}', target))
    shell.runWords([...filled, target], scope.clone(), null)
  }
  return empty
}

/** Runs its command on the words that it reads. */
export const xargs: Follow = ({ args, scope, stdin, shell }) => {
  const options = readOptions(args, {
    shortValues: 'adEILnPs',
    longValues: 'arg-file delimiter max-lines max-args max-procs max-chars process-slot-var',
    stopsAtOperand: true,
  })
  const command = options.operands.length > 0 ? options.operands : [new Text('echo')]
  const file = options.valueOf('a', 'arg-file')
  const byLine = options.has('0', 'null', 'd', 'delimiter', 'I', 'i', 'replace')
  const items = readItems(file ? shell.readFile(file, scope) : stdin, byLine ? /[\n\0]/ : /\s+/)
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

/** GNU parallel: the command is text for a shell, the words come after `:::` or by a pipe. */
export const parallel: Follow = ({ args, scope, stdin, shell }) => {
  const { operands } = readOptions(args, { shortValues: 'jaINnLdS', stopsAtOperand: true })
  const marker = operands.findIndex((word) => word.startsWith(':::'))
  const items = marker < 0 ? readItems(stdin, /\n/) : operands.slice(marker + 1)
  const text = Text.join(marker < 0 ? operands : operands.slice(0, marker), ' ')
  for (const item of items) {
    const script = text.includes('{')
      ? text.replace(/\{[./#%\d-]*\}/g, () => quote(item))
      : Text.join([text, ' ', text.length === 0 ? item : quote(item)])
    shell.runScript(script, scope.clone(), null)
  }
  return unknown
}
