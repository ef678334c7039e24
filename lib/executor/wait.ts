import { setTimeout as delay } from 'node:timers/promises'
import type { Request } from '../protocol/request.ts'
import type { Result } from '../protocol/result.ts'
import { waitUntilReady } from './ready.ts'
import type { Task } from './task.ts'

/**
 * Waits for a run as long as its caller asked: to the end, for a while, until it is ready, or until
 * its deadline leaves it running. Gives the final result, or how it stands.
 */
export async function waitAsAsked(task: Task, request: Request): Promise<Result> {
  const { waitMs, ready } = request
  if (waitMs === 0) return task.look()
  if (waitMs === null && !ready && request.onTimeout === 'kill') return task.ended
  const over = new AbortController()
  const waits: Promise<unknown>[] = [task.ended, task.leftAtDeadline]
  if (waitMs !== null) waits.push(waitMsOrAbort(waitMs, over.signal))
  if (ready) waits.push(waitUntilReady(ready, task, over.signal))
  try {
    await Promise.race(waits)
    return task.look()
  } finally {
    over.abort()
  }
}

/** Whether the caller may be answered while the run goes on. */
export function mayReturnEarly({ waitMs, ready, onTimeout, timeoutMs }: Request): boolean {
  return waitMs !== null || ready !== null || (onTimeout === 'background' && timeoutMs !== null)
}

/** At most `timeoutMs`, and no timer is left when `task` ends before. */
export async function waitAtMost(task: Task, timeoutMs: number): Promise<Result> {
  const over = new AbortController()
  await Promise.race([task.ended, waitMsOrAbort(timeoutMs, over.signal)])
  over.abort()
  return task.look()
}

async function waitMsOrAbort(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
