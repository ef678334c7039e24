import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../protocol/deferred.ts'
import { limits } from '../protocol/limits.ts'
import { nowMs } from '../system/clock.ts'
import { isScarcity } from './start-failure.ts'

/**
 * Lets starts wait that the system refuses for want of files or processes, since other runs give them
 * back as they end: in the order in which they came, until nothing could be started for
 * `limits.startPatienceMs`, and then the refusal is thrown. Aborting `signal` ends the wait.
 */
export interface StartTurns {
  take<T>(start: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Nothing waits any longer. */
  close(): void
}

const lookEveryMs = 50
/** A start may also wait for its session, and then holds up nobody else. */
const attemptMs = 250

export function createStartTurns(patienceMs: number = limits.startPatienceMs): StartTurns {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let closed = false
  let startedMs = 0

  /** Starts when all that came before has had its turn. */
  async function queue<T>(start: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const enteredMs = nowMs()
    const before = last
    const { promise, resolve: leave } = createDeferred()
    last = promise
    try {
      await before
      for (;;) {
        const attempt = start()
        void Promise.race([attempt, delay(attemptMs)]).then(
          () => leave(),
          () => undefined,
        )
        try {
          const started = await attempt
          startedMs = nowMs()
          return started
        } catch (error) {
          const inVain = nowMs() - Math.max(enteredMs, startedMs) > patienceMs
          const over = closed || signal?.aborted || inVain
          if (over || !isScarcity(error)) throw error
        }
        await delay(lookEveryMs)
      }
    } finally {
      leave()
    }
  }

  return {
    async take(start, signal) {
      if (waiting === 0) {
        try {
          return await start()
        } catch (error) {
          if (!isScarcity(error) || signal?.aborted) throw error
        }
      }
      waiting++
      try {
        return await queue(start, signal)
      } finally {
        waiting--
      }
    },
    close() {
      closed = true
    },
  }
}
