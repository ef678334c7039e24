import { activateGlobs, anyText, isKnown, matchesGlob, unknown } from '../shell/marked-text.ts'
import type { Call, Follow } from '../shell/interpreter.ts'
import type { Scope } from '../shell/scope.ts'

/** What the tests before an action let through. */
type Matched =
  /** Everything below the roots, and the roots. */
  | { kind: 'all' }
  /** A part that no name describes: by age, size, owner. */
  | { kind: 'some' }
  /** Names or paths that fit one of these patterns. */
  | { kind: 'named'; patterns: readonly string[] }

interface Action {
  readonly words: readonly string[] | 'delete' | 'print'
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
  private readonly words: readonly string[]

  constructor(words: readonly string[]) {
    this.words = words
  }

  readList(before: Matched): Matched {
    const results = [this.readSequence(before)]
    while (/^-(?:o|or)$|^,$/.test(this.words[this.at] ?? '')) {
      this.at++
      results.push(this.readSequence(before))
    }
    return either(results)
  }

  private readSequence(before: Matched): Matched {
    let matched = before
    while (this.at < this.words.length) {
      const word = this.words[this.at] ?? ''
      if (word === ')' || /^-(?:o|or)$|^,$/.test(word)) break
      this.at++
      if (/^-(?:a|and)$/.test(word)) continue
      matched = this.readTerm(word, matched)
    }
    return matched
  }

  private readTerm(word: string, before: Matched): Matched {
    if (word === '!' || word === '-not') {
      const next = this.words[this.at++] ?? ''
      this.readTerm(next, before)
      return before
    }
    if (word === '(') {
      const inner = this.readList(before)
      if (this.words[this.at] === ')') this.at++
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
    if (pathTests.test(word)) return this.narrow(before, (pattern) => `/${pattern}`)
    if (regexTests.test(word)) {
      const pattern = this.words[this.at++] ?? ''
      return /^[.*/\\^$()+]*$/.test(pattern) || before.kind === 'named' ? before : { kind: 'some' }
    }
    if (ignoredArgument.has(word)) {
      this.at++
      return before
    }
    if (partTests.test(word)) {
      if (!noArgument.test(word)) this.at++
      if (before.kind === 'named') return before
      return word === '-empty' ? { kind: 'named', patterns: ['empty'] } : { kind: 'some' }
    }
    return before
  }

  private narrow(before: Matched, pathOf: (pattern: string) => string): Matched {
    const pattern = activateGlobs(this.words[this.at++] ?? '')
    if (before.kind === 'named') return before
    const isWide =
      isKnown(pattern) && ['src', 'a', 'README.md'].every((name) => matchesGlob(pattern, name))
    return isWide ? before : { kind: 'named', patterns: [pathOf(pattern)] }
  }

  private readCommand(): string[] {
    const words: string[] = []
    for (; this.at < this.words.length; this.at++) {
      const word = this.words[this.at] ?? ''
      if (word === ';' || (word === '+' && words.at(-1) === '{}')) {
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

export const find: Follow = ({ words, scope, interpreter }: Call) => {
  const args = words.slice(1)
  while (/^-(?:[HLP]|O\d*|D)$/.test(args[0] ?? '')) if (args.shift() === '-D') args.shift()
  const end = args.findIndex((word) => /^[-(!,]/.test(word))
  const given = end < 0 ? args : args.slice(0, end)
  const roots = given.length > 0 ? given : ['.']
  const expression = new Expression(end < 0 ? [] : args.slice(end))
  const matched = expression.readList({ kind: 'all' })
  let output = ''
  for (const action of expression.actions) {
    const targets = roots.flatMap((root) => targetsBelow(root, action.matched, scope))
    if (action.words === 'print') output += printed(targets, action.matched)
    else if (action.words === 'delete')
      interpreter.runWords(['rm', '-r', ...targets], scope.clone(), null)
    else for (const target of targets) runOn(target, action.words)
  }
  function runOn(target: string, inner: readonly string[]): void {
    const filled = inner.map((word) => word.replaceAll('{}', () => target))
    const [name = '', ...rest] = filled
    // On every file below a folder, a plain rm does what rm -r does to the folder.
    const isPlainRemoval = /(?:^|\/)(?:rm|unlink|shred)$/.test(name)
    interpreter.runWords(isPlainRemoval ? ['rm', '-r', ...rest] : filled, scope.clone(), null)
  }
  if (expression.actions.length > 0) return output
  return printed(
    roots.flatMap((root) => targetsBelow(root, matched, scope)),
    matched,
  )
}

/** Lines as another command would read them; a whole tree shows by its two levels. */
function printed(targets: readonly string[], matched: Matched): string {
  if (matched.kind !== 'all') return targets.map((target) => `${target}\n`).join('')
  return targets.map((target) => `${target}\n${target}/${anyText}/${anyText}\n`).join('')
}

function targetsBelow(root: string, matched: Matched, scope: Scope): string[] {
  if (matched.kind === 'all') return [root]
  if (matched.kind === 'some') {
    const isWhole = isRootOrHome(root, scope)
    return [isWhole ? root : `${root}/found`]
  }
  return matched.patterns.map((pattern) => {
    if (!pattern.startsWith('/')) return `${root}/${pattern}`
    const path = pattern.slice(1)
    return path.startsWith(root) ? path : `${root}/${path}`
  })
}

function isRootOrHome(root: string, scope: Scope): boolean {
  if (/^\/*(?:[^/]+\/*)?$/.test(root) && root.startsWith('/'))
    return !/^\/+(?:tmp|var)\/*$/.test(root)
  return scope.variables.get('HOME')?.values.includes(root.replace(/\/+$/, '')) ?? root === unknown
}
