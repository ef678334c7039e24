import { Worker } from 'node:worker_threads'
import { engineGivesUpMs } from '../../system/pattern.ts'

/** Runs in a thread of its own: a pattern that never ends there can be ended from here. */
const threadSource = `
const { parentPort, workerData: { source, flags, givesUpMs } } = require('node:worker_threads')
const pattern = new RegExp(source, flags + 'g')

function find(text, from) {
  pattern.lastIndex = from
  const startedMs = performance.now()
  const match = pattern.exec(text)
  if (match === null && performance.now() - startedMs >= givesUpMs) throw new RangeError()
  return match
}

parentPort.on('message', ({ text, from, isPart, shared }) => {
  const lines = isPart ? [text] : text.split('\\n')
  for (const [line, text] of lines.entries()) {
    Atomics.store(shared, 0, line)
    const match = find(text, from)
    if (match === null) continue
    const count = shared[1]
    shared.set([line, match.index, match.index + match[0].length], 2 + 3 * count)
    Atomics.store(shared, 1, count + 1)
  }
  parentPort.postMessage(null)
})
parentPort.postMessage(null)`

/** The first match of a line, in UTF-16 units. */
export interface Match {
  /** Counted from 0 within the lines that were given. */
  line: number
  from: number
  to: number
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

/** Tells which lines match. */
export interface Matcher {
  /** Rejects with the reason of its signal. */
  match(lines: readonly string[]): Promise<Found>
  /** Looks for a match in a part of one line that begins at `from` or later in it. */
  matchPart(text: string, from: number): Promise<Found>
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
  const thread = new Worker(threadSource, {
    eval: true,
    workerData: { source, flags, givesUpMs: engineGivesUpMs },
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

  async function ask(work: { text: string; from: number; isPart: boolean }, lines: number) {
    await started
    if (timeoutMs !== null) timer ??= setTimeout(end, timeoutMs)
    // Shared, so that what the thread has found is known also if it has to be ended.
    const shared = new Int32Array(new SharedArrayBuffer(4 * (2 + 3 * lines)))
    const isWhole =
      !isOver &&
      (await new Promise<boolean>((resolve) => {
        settle = resolve
        thread.postMessage({ ...work, shared }, [])
      }))
    signal?.throwIfAborted()
    if (failure !== null) throw failure
    return { matches: readMatches(shared), stoodAt: isWhole ? null : shared[0]! }
  }

  return {
    match: (lines) => ask({ text: lines.join('\n'), from: 0, isPart: false }, lines.length),
    matchPart: (text, from) => ask({ text, from, isPart: true }, 1),
    async close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      await thread.terminate()
    },
  }
}

/** The line that is tried, the count of matches, then three numbers for each. */
function readMatches(shared: Int32Array): Match[] {
  return Array.from({ length: shared[1]! }, (_, index) => {
    const [line = 0, from = 0, to = 0] = shared.subarray(2 + 3 * index)
    return { line, from, to }
  })
}
