import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../protocol/deferred.ts'
import { limits } from '../protocol/limits.ts'
import { nowMs } from '../system/clock.ts'
import { describeRefusal, isOwnScarcity, isScarcity } from './start-failure.ts'

/** What was started, as far as turns go. */
interface Started {
  /** Settles when it has ended. */
  readonly exited: Promise<unknown>
}

/**
 * Lets starts wait that the system refuses for want of files or processes, since other runs give them
 * back as they end: in the order in which they came, until nothing could be started for
 * `limits.startPatienceMs`, and then the refusal is thrown; soon where no other run has any to give back.
 * Aborting `signal` ends the wait.
 */
export interface StartTurns {
  take<T extends Started>(start: () => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Nothing waits any longer. */
  close(): void
}

const lookEveryMs = 50
/** A start may also wait for its session, and then holds up nobody else. */
const attemptMs = 250
/** What a run had open may be closed so long after its end. */
const closingMs = 250

export function createStartTurns(patienceMs: number = limits.startPatienceMs): StartTurns {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  let closed = false
  let changedMs = 0
  /** Those that run, and those that are starting: either may give something back. */
  let runs = 0

  async function begin<T extends Started>(start: () => Promise<T>): Promise<T> {
    runs++
    const leave = () => {
      runs--
      changedMs = nowMs()
    }
    try {
      const started = await start()
      changedMs = nowMs()
      void started.exited.then(leave, leave)
      return started
    } catch (error) {
      runs--
      throw describeRefusal(error)
    }
  }

  /** Starts when all that came before has had its turn. */
  async function queue<T extends Started>(
    start: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const enteredMs = nowMs()
    const before = last
    const { promise, resolve: leave } = createDeferred()
    last = promise
    try {
      await before
      for (;;) {
        const attempt = begin(start)
        void Promise.race([attempt, delay(attemptMs)]).then(
          () => leave(),
          () => undefined,
        )
        try {
          return await attempt
        } catch (error) {
          const hopeMs = runs === 0 && isOwnScarcity(error) ? closingMs : patienceMs
          const inVain = nowMs() - Math.max(enteredMs, changedMs) > hopeMs
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
          return await begin(start)
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
