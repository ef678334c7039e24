import { createDeferred } from '../protocol/deferred.ts'
import { type StartFailure, StartError } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'

/**
 * Settles when it is this run's turn to take its place among those of its session, and before that where
 * the signal aborts or the order is closed. Gives why it may not begin, where its session was closed meanwhile.
 */
export type Turn = (signal: AbortSignal | undefined) => Promise<StartFailure | null>

export interface SessionOrder {
  /** `begin` waits for its turn; once it has settled, the next run of the session has its own. */
  enter<T>(request: Request, begin: (turn: Turn) => Promise<T>): Promise<T>
  /** Ends the wait of those in the sessions of this name. */
  dismiss(session: string): void
  close(): void
}

/** A run that waits for its turn. */
interface Waiting {
  session: string
  settle(refusal: StartFailure | null): void
}

/**
 * Has the runs of each session take their places in the order in which they were asked for: what comes
 * before, such as the guard, may take longer for one than for the next. What waits here is no run yet: it is
 * in no list, and its deadline has not begun.
 */
export function createSessionOrder(): SessionOrder {
  const last = new Map<string, Promise<unknown>>()
  const waiting = new Set<Waiting>()
  let closed = false

  async function wait(
    session: string,
    before: Promise<unknown>,
    signal: AbortSignal | undefined,
  ): Promise<StartFailure | null> {
    if (closed || signal?.aborted) return null
    const { promise, resolve: settle } = createDeferred<StartFailure | null>()
    const entry = { session, settle }
    const leave = () => settle(null)
    waiting.add(entry)
    signal?.addEventListener('abort', leave, { once: true })
    void before.then(leave)
    const refusal = await promise
    waiting.delete(entry)
    signal?.removeEventListener('abort', leave)
    return refusal
  }

  return {
    enter({ session, host, pty }, begin) {
      if (session === null) return begin(async () => null)
      // On another machine, or on a terminal, it is another session.
      const key = JSON.stringify([session, host, pty])
      const before = last.get(key)
      const begun = begin(async (signal) => (before ? wait(session, before, signal) : null))
      const settled = Promise.allSettled([before, begun]).then(() => {
        if (last.get(key) === settled) last.delete(key)
      })
      last.set(key, settled)
      return begun
    },
    dismiss(session) {
      const { failure } = new StartError('session_closed', `Session ${session} has been closed`)
      for (const entry of waiting) if (entry.session === session) entry.settle(failure)
    },
    close() {
      closed = true
      for (const entry of waiting) entry.settle(null)
    },
  }
}
