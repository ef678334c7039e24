import { Worker } from 'node:worker_threads'

/** Runs in a thread of its own: a pattern that never ends there can be ended from here. */
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads')
const pattern = new RegExp(workerData.source, workerData.flags)
parentPort.on('message', (text) => {
  const found = []
  let line = 0
  for (let start = 0; start <= text.length; line++) {
    const newline = text.indexOf('\\n', start)
    const end = newline < 0 ? text.length : newline
    const match = pattern.exec(text.slice(start, end))
    if (match !== null) found.push({ line, from: match.index, to: match.index + match[0].length })
    start = end + 1
  }
  parentPort.postMessage(found)
})`

/** The first match of a line, in UTF-16 units. */
export interface Match {
  /** Counted from 0 within the text. */
  line: number
  from: number
  to: number
}

/** Tells which lines of a text match; null once its time is over. */
export interface Matcher {
  /** Rejects with the reason of its signal. */
  match(text: string): Promise<Match[] | null>
  close(): Promise<void>
}

export interface MatcherOptions {
  /** For all its work. Null: as long as it takes. */
  timeoutMs: number | null
  signal?: AbortSignal | undefined
}

/** A matcher for a regular expression. */
export function createMatcher(pattern: RegExp, { timeoutMs, signal }: MatcherOptions): Matcher {
  const thread = new Worker(threadSource, {
    eval: true,
    workerData: { source: pattern.source, flags: pattern.flags },
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
    failure = error
    end()
  })
  return {
    async match(text) {
      const found = isOver
        ? null
        : await new Promise<Match[] | null>((resolve) => {
            settle = resolve
            thread.postMessage(text, [])
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
