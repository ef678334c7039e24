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
  while (!(await holds())) {
    if (performance.now() - startedMs > patienceMs) {
      throw new Error(`not so after ${patienceMs / 1000} s: ${String(holds)} ${tell()}`)
    }
    await delay(2)
  }
}
