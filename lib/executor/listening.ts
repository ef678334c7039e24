import { messageOf } from '../protocol/errors.ts'
import type { ListenerAnswer, RunEvent, RunListener } from '../protocol/result/event.ts'

/** A run's listener, whose mistake ends the run and reaches its caller, never the event loop. */
export interface Listening {
  hear: RunListener
  /** What is done with a sentence about the failure, now or when it comes. */
  onFailure: (act: (message: string) => void) => void
  /** Throws what the listener threw first, if it did. */
  rethrow(): void
}

export function createListening(onEvent: RunListener | undefined): Listening {
  let failure: { error: unknown } | null = null
  let act: ((message: string) => void) | null = null

  function report(): void {
    if (failure) act?.(`Its listener failed: ${messageOf(failure.error)}`)
  }

  function fail(error: unknown): void {
    if (failure) return
    failure = { error }
    report()
  }

  function hear(event: RunEvent): ListenerAnswer | Promise<ListenerAnswer> {
    if (failure || !onEvent) return
    try {
      const answer = onEvent(event)
      return typeof answer === 'object' ? Promise.resolve(answer).catch(fail) : answer
    } catch (error) {
      fail(error)
    }
  }

  return {
    hear,
    onFailure(chosen) {
      act = chosen
      report()
    },
    rethrow() {
      if (failure) throw failure.error
    },
  }
}
