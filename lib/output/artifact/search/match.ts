import { Worker } from 'node:worker_threads'
import { MisuseError } from '../../../protocol/errors.ts'
import { engineGivesUpMs } from '../../../system/pattern.ts'

/** Runs in a thread of its own: a pattern that never ends there can be ended from here. */
const threadSource = `
const { parentPort, workerData: { source, flags, givesUpMs } } = require('node:worker_threads')
const pattern = new RegExp(source, flags)
const patternFrom = new RegExp(source, flags + 'g')

function find(pattern, text) {
  const startedMs = performance.now()
  const match = pattern.exec(text)
  if (match === null && performance.now() - startedMs >= givesUpMs) throw new RangeError()
  return match
}

function matchLines(text) {
  const found = []
  let line = 0
  for (let start = 0; start <= text.length; line++) {
    const newline = text.indexOf('\\n', start)
    const end = newline < 0 ? text.length : newline
    const match = find(pattern, text.slice(start, end))
    if (match !== null) found.push({ line, from: match.index, to: match.index + match[0].length })
    start = end + 1
  }
  return found
}

function matchPart(text, { from, to, isLast }) {
  const found = matchFrom(text, from)
  if (found === null || found.from >= to) return []
  if (isLast || found.to < text.length) return [found]
  // A character that no text has stands for what follows, so that $ does not match there.
  const certain = matchFrom(text + '\\uFFFF', from)
  const isOpen = certain === null || certain.from !== found.from
  return [{ ...found, isOpen }]
}

function matchFrom(text, from) {
  patternFrom.lastIndex = from
  const match = find(patternFrom, text)
  return match && { line: 0, from: match.index, to: match.index + match[0].length }
}

parentPort.on('message', ({ text, part }) => {
  parentPort.postMessage(part === null ? matchLines(text) : matchPart(text, part))
})`

/** The first match of a line, in UTF-16 units. */
export interface Match {
  /** Counted from 0 within the text. */
  line: number
  from: number
  to: number
  /** It went on to the end of a part of a line: what follows may decide otherwise. */
  isOpen?: boolean
}

/** A part of one line: where in it a match may begin, and whether the line ends with it. */
export interface PartOfLine {
  from: number
  to: number
  isLast: boolean
}

/** Tells which lines of a text match; null once its time is over. */
export interface Matcher {
  /** Rejects with the reason of its signal. */
  match(text: string, part?: PartOfLine): Promise<Match[] | null>
  close(): Promise<void>
}

export interface MatcherOptions {
  /** How long all its work may take. Null: as long as it takes. */
  timeoutMs: number | null
  signal?: AbortSignal | undefined
}

/** A matcher for a regular expression. */
export function createMatcher(pattern: RegExp, { timeoutMs, signal }: MatcherOptions): Matcher {
  const thread = new Worker(threadSource, {
    eval: true,
    workerData: { source: pattern.source, flags: pattern.flags, givesUpMs: engineGivesUpMs },
    stdout: true,
    stderr: true,
  })
  let settle: ((found: Match[] | null) => void) | null = null
  let failure: Error | null = null
  let isOver = false
  const answer = (found: Match[] | null) => {
    settle?.(found)
    settle = null
  }
  const end = () => {
    isOver = true
    answer(null)
  }
  const timer = timeoutMs === null ? undefined : setTimeout(end, timeoutMs)
  signal?.addEventListener('abort', end, { once: true })
  thread.on('message', (found: Match[]) => answer(found))
  thread.on('error', (error) => {
    failure = error instanceof RangeError ? tooDeep() : error
    end()
  })
  return {
    async match(text, part) {
      const found = isOver
        ? null
        : await new Promise<Match[] | null>((resolve) => {
            settle = resolve
            thread.postMessage({ text, part: part ?? null }, [])
          })
      signal?.throwIfAborted()
      if (failure !== null) throw failure
      return found
    },
    async close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      await thread.terminate()
    },
  }
}

/** The stack on which a pattern goes back over what it has matched is bounded, and so are its steps in Bun. */
function tooDeep(): MisuseError {
  const message =
    'pattern: it needs more memory or time on one of these lines than it may have; write it with fewer repetitions'
  return new MisuseError('invalid_field', message, 'pattern')
}
