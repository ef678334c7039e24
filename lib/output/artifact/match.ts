import { Worker } from 'node:worker_threads'

/** Runs in a thread of its own: a pattern that never ends there can be ended from here. */
const threadSource = `
const { parentPort, workerData } = require('node:worker_threads')
const pattern = new RegExp(workerData.source, workerData.flags)
parentPort.on('message', (text) => {
  const found = []
  text.split('\\n').forEach((line, index) => {
    if (pattern.test(line)) found.push(index)
  })
  parentPort.postMessage(found)
})`

/** Tells which lines of a text match; null once its time is over. */
export interface Matcher {
  match(text: string): Promise<number[] | null>
  close(): Promise<void>
}

/** A matcher for a regular expression, with so many milliseconds for all its work. */
export function createMatcher(pattern: RegExp, timeoutMs: number): Matcher {
  const thread = new Worker(threadSource, {
    eval: true,
    workerData: { source: pattern.source, flags: pattern.flags },
    stdout: true,
    stderr: true,
  })
  let settle: ((found: number[] | null) => void) | null = null
  let failure: Error | null = null
  let isOver = false
  const answer = (found: number[] | null) => {
    settle?.(found)
    settle = null
  }
  const timer = setTimeout(() => {
    isOver = true
    answer(null)
  }, timeoutMs)
  thread.on('message', (found: number[]) => answer(found))
  thread.on('error', (error) => {
    failure = error
    isOver = true
    answer(null)
  })
  return {
    async match(text) {
      if (isOver) return null
      const found = await new Promise<number[] | null>((resolve) => {
        settle = resolve
        thread.postMessage(text, [])
      })
      if (failure !== null) throw failure
      return found
    },
    async close() {
      clearTimeout(timer)
      await thread.terminate()
    },
  }
}
