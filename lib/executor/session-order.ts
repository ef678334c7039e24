import { createDeferred } from '../protocol/deferred.ts'

/**
 * Settles when it is this run's turn to take its place among those of its session, and before that where
 * the signal aborts or the order is closed.
 */
export type Turn = (signal: AbortSignal | undefined) => Promise<void>

export interface SessionOrder {
  /** `begin` waits for its turn; once it has settled, the next run of the session has its own. */
  enter<T>(session: string | null, begin: (turn: Turn) => Promise<T>): Promise<T>
  close(): void
}

/**
 * Has the runs of each session take their places in the order in which they were asked for: what comes
 * before, such as the guard, may take longer for one than for the next.
 */
export function createSessionOrder(): SessionOrder {
  const last = new Map<string, Promise<unknown>>()
  const waiting = new Set<() => void>()
  let closed = false

  async function wait(before: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
    if (closed || signal?.aborted) return
    const { promise, resolve } = createDeferred()
    const leave = () => resolve()
    waiting.add(leave)
    signal?.addEventListener('abort', leave, { once: true })
    void before.then(leave)
    await promise
    waiting.delete(leave)
    signal?.removeEventListener('abort', leave)
  }

  return {
    enter(session, begin) {
      if (session === null) return begin(async () => undefined)
      const before = last.get(session)
      const begun = begin(async (signal) => before && wait(before, signal))
      const settled = Promise.allSettled([before, begun]).then(() => {
        if (last.get(session) === settled) last.delete(session)
      })
      last.set(session, settled)
      return begun
    },
    close() {
      closed = true
      for (const leave of waiting) leave()
    },
  }
}
