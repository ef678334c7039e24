import { setTimeout as delay } from 'node:timers/promises'

/**
 * Milliseconds of a clock that only goes forward (clock_gettime(2), CLOCK_MONOTONIC).
 * `performance.now()` says the same, but loading it costs every start of Node 1 ms.
 */
export function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

/** A time for people and programs: to the microsecond, without the dust of floating point. */
export const roundMs = (ms: number): number => Math.round(ms * 1000) / 1000

/** Waits so long, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

/** Waits until something has settled, so long at most, and leaves no timer behind. Undefined: it has not. */
export async function settleWithin<Value>(
  ms: number,
  awaited: Promise<Value> | undefined,
): Promise<Value | undefined> {
  const over = new AbortController()
  const late = pause(ms, over.signal).then(() => undefined)
  try {
    return await Promise.race([awaited, late])
  } finally {
    over.abort()
  }
}

/** Looks every few milliseconds whether it is so, so long at most. */
export async function waitUntil(
  isSo: () => boolean,
  { everyMs, mostMs }: { everyMs: number; mostMs: number },
): Promise<void> {
  const deadlineMs = nowMs() + mostMs
  while (!isSo() && nowMs() < deadlineMs) await delay(everyMs)
}
