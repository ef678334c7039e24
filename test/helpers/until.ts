import { type EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

/** Far beyond what anything waited for takes on a busy machine, and below the limit of a test file. */
const patienceMs = 30_000

/**
 * Looks again and again until it holds. Rejects when it has not held in time, with the condition as
 * it is written and what `tell` says of the state then.
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  tell: () => string = () => '',
): Promise<void> {
  const startedMs = performance.now()
  for (;;) {
    const lookedMs = performance.now()
    if (await holds()) return
    const nowMs = performance.now()
    if (nowMs - startedMs > patienceMs) {
      throw new Error(`not so after ${patienceMs / 1000} s: ${String(holds)} ${tell()}`)
    }
    // A look may read all of /proc: what is waited for needs the processor more.
    await delay(Math.max(2, 2 * (nowMs - lookedMs)))
  }
}

/** The next such event, with its arguments. Rejects when none has come in time. */
export async function hear(emitter: EventEmitter, event: string): Promise<unknown[]> {
  try {
    return (await once(emitter, event, { signal: AbortSignal.timeout(patienceMs) })) as unknown[]
  } catch (error) {
    if ((error as Error).name !== 'AbortError') throw error
    throw new Error(`no \`${event}\` came within ${patienceMs / 1000} s`, { cause: error })
  }
}
