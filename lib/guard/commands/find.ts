import { type Options, readOptions } from '../shell/options.ts'
import type { Scope } from '../shell/scope.ts'
import { anyText, empty, Text, unknown } from '../shell/text.ts'
import type { Follow } from './call.ts'

/** What the tests before an action let through. */
type Matched =
  /** Everything below the roots, and the roots. */
  | { kind: 'all' }
  /** A part that no name describes: by age, size, owner. */
  | { kind: 'some' }
  /** Names or paths that fit one of these patterns. */
  | { kind: 'named'; patterns: readonly Text[] }

interface Action {
  readonly words: readonly Text[] | 'delete' | 'print'
  readonly matched: Matched
}

const ignoredArgument = new Set(['-type', '-maxdepth', '-mindepth', '-regextype', '-D', '-O', '-j'])
const partTests =
  /^-(?:[acm](?:min|time)|[ac]?newer.*|size|user|group|uid|gid|nouser|nogroup|perm|links|used|fstype|context|executable|readable|writable|xtype|empty|inum|samefile)$/
const noArgument = /^-(?:nouser|nogroup|executable|readable|writable|empty)$/
const nameTests = /^-i?(?:name|lname)$/
const pathTests = /^-i?(?:path|wholename)$/
const regexTests = /^-i?regex$/

/** Reads the expression; gives each action with what reaches it. */
class Expression {
  readonly actions: Action[] = []
  private at = 0
  private readonly words: readonly Text[]

  constructor(words: readonly Text[]) {
    this.words = words
  }

  private get next(): string {
    return this.words[this.at]?.chars ?? ''
  }

  readList(before: Matched): Matched {
    const results = [this.readSequence(before)]
    while (/^-(?:o|or)$|^,$/.test(this.next)) {
      this.at++
      results.push(this.readSequence(before))
    }
    return either(results)
  }

  private readSequence(before: Matched): Matched {
    let matched = before
    while (this.at < this.words.length) {
      const word = this.next
      if (word === ')' || /^-(?:o|or)$|^,$/.test(word)) break
      this.at++
      if (/^-(?:a|and)$/.test(word)) continue
      matched = this.readTerm(word, matched)
    }
    return matched
  }

  private readTerm(word: string, before: Matched): Matched {
    if (word === '!' || word === '-not') {
      const { next } = this
      this.at++
      this.readTerm(next, before)
      return before
    }
    if (word === '(') {
      const inner = this.readList(before)
      if (this.next === ')') this.at++
      return inner
    }
    if (word === '-delete') return this.act('delete', before)
    if (/^-(?:exec|execdir|ok|okdir)$/.test(word)) return this.act(this.readCommand(), before)
    if (/^-(?:print0?|ls)$/.test(word)) return this.act('print', before)
    if (/^-(?:fprint0?|fls|printf)$/.test(word)) {
      this.at++
      return word === '-printf' ? this.act('print', before) : before
    }
    if (word === '-fprintf') {
      this.at += 2
      return before
    }
    if (nameTests.test(word)) return this.narrow(before, (pattern) => pattern)
    if (pathTests.test(word)) return this.narrow(before, (pattern) => Text.join(['/', pattern]))
    if (regexTests.test(word)) {
      const pattern = this.next
      this.at++
      return /^[.*/\\^$()+]*$/.test(pattern) || before.kind === 'named' ? before : { kind: 'some' }
    }
    if (ignoredArgument.has(word)) {
      this.at++
      return before
    }
    if (partTests.test(word)) {
      if (!noArgument.test(word)) this.at++
      if (before.kind === 'named') return before
      return word === '-empty' ? { kind: 'named', patterns: [new Text('empty')] } : { kind: 'some' }
    }
    return before
  }

  private narrow(before: Matched, pathOf: (pattern: Text) => Text): Matched {
    const pattern = (this.words[this.at++] ?? empty).activated()
    if (before.kind === 'named') return before
    const isWide =
      pattern.isKnown && ['src', 'a', 'README.md'].every((name) => pattern.matches(name))
    return isWide ? before : { kind: 'named', patterns: [pathOf(pattern)] }
  }

  private readCommand(): Text[] {
    const words: Text[] = []
    for (; this.at < this.words.length; this.at++) {
      const word = this.words[this.at] ?? empty
      if (word.is(';') || (word.is('+') && words.at(-1)?.is('{}'))) {
        this.at++
        break
      }
      words.push(word)
    }
    return words
  }

  private act(words: Action['words'], matched: Matched): Matched {
    this.actions.push({ words, matched })
    return matched
  }
}

function either(results: readonly Matched[]): Matched {
  if (results.some(({ kind }) => kind === 'all')) return { kind: 'all' }
  if (results.some(({ kind }) => kind === 'some')) return { kind: 'some' }
  return { kind: 'named', patterns: results.flatMap((r) => (r.kind === 'named' ? r.patterns : [])) }
}

export const find: Follow = ({ args: own, scope, shell }) => {
  const args = [...own]
  while (args[0]?.test(/^-(?:[HLP]|O\d*|D)$/)) if (args.shift()?.is('-D')) args.shift()
  const end = args.findIndex((word) => word.test(/^[-(!,]/))
  const given = end < 0 ? args : args.slice(0, end)
  const roots = given.length > 0 ? given : [new Text('.')]
  const expression = new Expression(end < 0 ? [] : args.slice(end))
  const matched = expression.readList({ kind: 'all' })
  const below = (what: Matched) => roots.flatMap((root) => targetsBelow(root, what, scope))
  const outputs: Text[] = []
  for (const { words, matched: reached } of expression.actions) {
    const targets = below(reached)
    if (words === 'print') outputs.push(printed(targets, reached))
    else if (words === 'delete') shell.runWords([...removal, ...targets], scope.clone(), null)
    else for (const target of targets) shell.runWords(fill(words, target), scope.clone(), null)
  }
  return expression.actions.length > 0 ? Text.join(outputs) : printed(below(matched), matched)
}

const removal = [new Text('rm'), new Text('-r')]

/** What is started for one file. On every file below a folder, a plain rm removes the folder. */
function fill(words: readonly Text[], target: Text): readonly Text[] {
  const filled = words.map((word) => word.replaceAll('{}', target))
  const isPlainRemoval = filled[0]?.test(/(?:^|\/)(?:rm|unlink|shred)$/)
  return isPlainRemoval ? [...removal, ...filled.slice(1)] : filled
}

/** Lines as another command would read them; a whole tree shows by its two levels. */
function printed(targets: readonly Text[], { kind }: Matched): Text {
  return Text.join(
    targets.flatMap((target) =>
      kind === 'all'
        ? [target, '\n', ...[target, '/', anyText, '/', anyText, '\n']]
        : [target, '\n'],
    ),
  )
}

function targetsBelow(root: Text, matched: Matched, scope: Scope): Text[] {
  if (matched.kind === 'all') return [root]
  if (matched.kind === 'some') {
    return [isRootOrHome(root, scope) ? root : Text.join([root, '/found'])]
  }
  return matched.patterns.map((pattern) => {
    const path = pattern.startsWith('/') ? pattern.slice(1) : null
    if (path?.startsWith(root.chars)) return path
    return Text.join([root, '/', path ?? pattern])
  })
}

function isRootOrHome(root: Text, scope: Scope): boolean {
  if (root.test(/^\/+(?:[^/]+\/*)?$/)) return !root.test(/^\/+(?:tmp|var)\/*$/)
  const path = root.chars.replace(/\/+$/, '')
  const homes = scope.variables.get('HOME')?.values
  return homes ? homes.some((home) => home.chars === path) : root.equals(unknown)
}

const fdStyle = {
  shortValues: 'eEtdSocjg',
  longValues: `extension exclude type max-depth min-depth exact-depth size owner color threads
    changed-within changed-before search-path base-directory format ignore-file max-results`,
}

/** `fd pattern folder -x command`: the command for every entry that fits. */
export const fd: Follow = ({ args, scope: outer, shell }) => {
  const at = args.findIndex((word) => word.test(/^(?:-[xX]|--exec|--exec-batch)$/))
  const options = readOptions(at < 0 ? args : args.slice(0, at), fdStyle)
  const [pattern = empty, ...folders] = options.operands
  const scope = outer.clone()
  for (const folder of options.valuesOf('base-directory')) scope.enter([folder])
  const roots = [...folders, ...options.valuesOf('search-path')]
  const names = namesFoundBy(pattern, options)
  const targets = (roots.length > 0 ? roots : [new Text('.')]).flatMap((root) =>
    names.map((name) => Text.join([root, '/', name])),
  )
  if (at < 0) return Text.join(targets.flatMap((target) => [target, '\n']))
  const words = args.slice(at + 1).filter((word) => !word.is(';'))
  const hasPlace = words.some((word) => word.test(/\{(?:|\/|\/\/|\.|\/\.)\}/))
  for (const target of targets) {
    const place = /\{(?:|\/|\/\/|\.|\/\.)\}/g
    const filled = hasPlace
      ? words.map((word) => word.replace(place, () => target))
      : [...words, target]
    shell.runWords(filled, scope.clone(), null)
  }
  return empty
}

/** The names that fd's pattern, a regular expression, lets through; everything where it is wide. */
function namesFoundBy(pattern: Text, options: Options): Text[] {
  const extensions = options.valuesOf('e', 'extension')
  if (extensions.length > 0) return extensions.map((end) => Text.join([anyText, '.', end]))
  if (options.has('S', 'size', 'o', 'owner', 'changed-within', 'changed-before')) {
    return [new Text('found')]
  }
  if (options.has('g', 'glob')) return [pattern.activated()]
  if (pattern.test(/^[.^$*]*$/)) return [anyText]
  const [, start, plain, end] = /^(\^?)((?:[\w-]|\\\.)+)(\$?)$/.exec(pattern.chars) ?? []
  if (plain === undefined) return [new Text('found')]
  const name = plain.replaceAll('\\', '')
  return [Text.join([start === '' ? anyText : '', name, end === '' ? anyText : ''])]
}
