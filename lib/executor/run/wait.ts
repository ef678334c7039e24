import type { Ready, Request } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import { pause } from '../../system/wait.ts'
import { waitUntilReady } from './ready.ts'
import type { LiveRun } from './run.ts'

/**
 * Waits for a run as long as its caller asked: to the end, for a while, until it is ready, until its
 * deadline leaves it running, or until the caller leaves. Gives the final result, or how it stands.
 */
export async function waitAsAsked(run: LiveRun): Promise<Result> {
  const { waitMs, ready } = run.request
  const ended = Promise.race([run.ended, run.left])
  if (waitMs === null && ready === null) await ended
  else if (waitMs !== 0) await waitUntilOver(run, ended, { timeoutMs: waitMs, ready })
  return run.look()
}

/** Whether the caller may be answered while the run goes on. */
export function mayReturnEarly({ waitMs, ready, onTimeout, timeoutMs }: Request): boolean {
  return waitMs !== null || ready !== null || (onTimeout === 'background' && timeoutMs !== null)
}

/** What ends a wait before the run has ended. */
export interface WaitLimits {
  timeoutMs: number | null
  /** The run is ready. */
  ready?: Ready | null
  /** Nobody waits any more. */
  signal?: AbortSignal | undefined
}

/** Waits for the end of a run. Gives how it stands then. */
export async function waitAtMost(run: LiveRun, limits: WaitLimits): Promise<Result> {
  await waitUntilOver(run, run.ended, limits)
  return run.look()
}

/** Waits for the end or one of the limits, and leaves no timer behind. */
async function waitUntilOver(
  run: LiveRun,
  ended: Promise<unknown>,
  { timeoutMs, ready, signal }: WaitLimits,
): Promise<void> {
  const over = new AbortController()
  const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const waits = [ended]
  if (timeoutMs !== null) waits.push(pause(timeoutMs, either))
  if (ready) waits.push(waitUntilReady(ready, run, either))
  await Promise.race(waits)
  over.abort()
}
