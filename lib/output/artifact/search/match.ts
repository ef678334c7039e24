import { Worker } from 'node:worker_threads'
import { engineGivesUpMs } from '../../../system/pattern.ts'

/** Runs in a thread of its own: a pattern that never ends there can be ended from here. */
const threadSource = `
const { parentPort, workerData: { source, steps, flags, givesUpMs } } = require('node:worker_threads')
const pattern = new RegExp(source, flags)
const patternFrom = new RegExp(source, flags + 'g')
const stepsFrom = steps.map((step) => new RegExp(step.source, flags + 'g'))

function find(pattern, text) {
  const startedMs = performance.now()
  const match = pattern.exec(text)
  if (match === null && performance.now() - startedMs >= givesUpMs) throw new RangeError()
  return match
}

function matchLines(text, shared) {
  let line = 0
  for (let start = 0; start <= text.length; line++) {
    Atomics.store(shared, 0, line)
    const newline = text.indexOf('\\n', start)
    const end = newline < 0 ? text.length : newline
    const match = find(pattern, text.slice(start, end))
    if (match !== null) share(shared, line, match, false)
    start = end + 1
  }
}

function share(shared, line, { index, 0: { length } }, isOpen) {
  const count = shared[1]
  shared.set([line, index, index + length, Number(isOpen)], 2 + 4 * count)
  Atomics.store(shared, 1, count + 1)
}

function matchPart(text, shared, { from, to, isLast, step }) {
  const wanted = step === undefined ? patternFrom : stepsFrom[step]
  const found = matchFrom(wanted, text, from)
  if (found === null || found.index >= to) return
  const isAtEnd = found.index + found[0].length >= text.length
  // A character that no text has stands for what follows, so that $ does not match there.
  const certain = isLast || !isAtEnd ? found : matchFrom(wanted, text + '\\uFFFF', from)
  share(shared, 0, found, certain === null || certain.index !== found.index)
}

function matchFrom(wanted, text, from) {
  wanted.lastIndex = from
  return find(wanted, text)
}

parentPort.on('message', ({ text, shared, part }) => {
  if (part === null) matchLines(text, shared)
  else matchPart(text, shared, part)
  parentPort.postMessage(null)
})
parentPort.postMessage(null)`

/** The first match of a line, in UTF-16 units. */
export interface Match {
  /** Counted from 0 within the text. */
  line: number
  from: number
  to: number
  /** It went on to the end of a part of a line: what follows may decide otherwise. */
  isOpen: boolean
}

/** What is known of lines. */
export interface Found {
  /** The first match of each line that has one. */
  matches: readonly Match[]
  /**
   * The line at which the time was over or the engine gave up, of which nothing is known, nor of those
   * behind it; null: all are known.
   */
  stoodAt: number | null
}

/** A part of one line: where in it a match may begin, and whether the line ends with it. */
export interface PartOfLine {
  from: number
  to: number
  isLast: boolean
  /** Which step of the pattern is looked for. Default: the whole pattern. */
  step?: number
}

/** A piece of a pattern, and whether at least one character stands between it and the next one. */
export interface Step {
  source: string
  isApart: boolean
}

/** Tells which lines match. */
export interface Matcher {
  /** The steps of its pattern. */
  readonly steps: readonly Step[]
  /** Whether what one of them matches, or all of a pattern without steps, may be of any length. */
  readonly isUnbounded: boolean
  /** Lines, or one that is a part of a line. Rejects with the reason of its signal. */
  match(lines: readonly string[], part?: PartOfLine): Promise<Found>
  close(): Promise<void>
}

export interface MatcherOptions {
  /**
   * How long all its work may take, from the first lines on and without the start of its thread. Null: as long as
   * it takes.
   */
  timeoutMs: number | null
  signal?: AbortSignal | undefined
}

/** A matcher for a regular expression. */
export function createMatcher(pattern: RegExp, { timeoutMs, signal }: MatcherOptions): Matcher {
  const { source, flags } = pattern
  const steps = splitSteps(source)
  const thread = new Worker(threadSource, {
    eval: true,
    workerData: { source, steps, flags, givesUpMs: engineGivesUpMs },
    stdout: true,
    stderr: true,
  })
  let settle: ((isWhole: boolean) => void) | null = null
  let failure: Error | null = null
  let isOver = false
  const answer = (isWhole: boolean) => {
    settle?.(isWhole)
    settle = null
  }
  const end = () => {
    isOver = true
    answer(false)
  }
  let timer: NodeJS.Timeout | undefined
  signal?.addEventListener('abort', end, { once: true })
  const started = new Promise<boolean>((resolve) => {
    settle = resolve
  })
  thread.on('message', () => answer(true))
  thread.on('error', (error) => {
    // The stack on which a pattern goes back over what it has matched is bounded, and so are its steps in Bun.
    if (!(error instanceof RangeError)) failure = error
    end()
  })
  const pieces = steps.length === 0 ? [source] : steps.map((step) => step.source)
  return {
    steps,
    isUnbounded: pieces.some((piece) => repeated.test(piece.replace(literal, ''))),
    async match(lines, part) {
      await started
      if (timeoutMs !== null) timer ??= setTimeout(end, timeoutMs)
      // Shared, so that what the thread has found is known also where it has to be ended.
      const shared = new Int32Array(new SharedArrayBuffer(4 * (2 + 4 * lines.length)))
      const isWhole =
        !isOver &&
        (await new Promise<boolean>((resolve) => {
          settle = resolve
          thread.postMessage({ text: lines.join('\n'), shared, part: part ?? null }, [])
        }))
      signal?.throwIfAborted()
      if (failure !== null) throw failure
      return { matches: readMatches(shared), stoodAt: isWhole ? null : shared[0]! }
    },
    async close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      await thread.terminate()
    },
  }
}

/** The line that is tried, the count of matches, then four numbers for each. */
function readMatches(shared: Int32Array): Match[] {
  return Array.from({ length: shared[1]! }, (_, index) => {
    const [line = 0, from = 0, to = 0, isOpen] = shared.subarray(2 + 4 * index)
    return { line, from, to, isOpen: isOpen === 1 }
  })
}

/** An escape, a class of characters, any text of any length, or one character. */
const token = /\\[\s\S]|\[(?:\\[\s\S]|[^\\\]])*\]|\.[*+]\??|[\s\S]/gu
/** An escape or a class of characters. */
const literal = /\\u\{[^}]*\}|\\[\s\S]|\[(?:\\[\s\S]|[^\\\]])*\]/gu
/** As often as there is something, or very often. */
const repeated = /[*+]|\{\d+,\}|\d{5,}\}/
/** Refers back, or looks ahead or behind: what it says of one place depends on others. */
const isTied = /\\[1-9k]|\(\?<?[=!]/

/**
 * The pieces between which a pattern lets any text stand (`a.*b`): it matches where they follow one another in
 * a line, however far apart. None where it is not made of such pieces.
 */
function splitSteps(pattern: string): Step[] {
  if (isTied.test(pattern)) return []
  const steps: Step[] = []
  let depth = 0
  let source = ''
  for (const [text] of pattern.matchAll(token)) {
    if (text === '|' && depth === 0) return []
    if (text === '(') depth++
    if (text === ')') depth--
    if (depth === 0 && /^\.[*+]/.test(text)) {
      steps.push({ source, isApart: text[1] === '+' })
      source = ''
    } else source += text
  }
  return steps.length === 0 ? [] : [...steps, { source, isApart: false }]
}
