import { setTimeout as delay } from 'node:timers/promises'
import { nowMs } from './clock.ts'

/** Waits so long, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

/** Waits until something has settled, so long at most, and leaves no timer behind. */
export async function settleWithin(
  ms: number,
  awaited: Promise<unknown> | undefined,
): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([awaited, pause(ms, over.signal)])
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
