import { nowMs } from '../system/clock.ts'
import type { Capture, Captured } from '../output/capture.ts'
import type { Running, StopReport } from '../protocol/ports.ts'
import type { Request } from '../protocol/request.ts'
import type { Result, StopReason } from '../protocol/result.ts'
import { createDeadlines, type Deadlines } from './deadlines.ts'
import { endedResult, runningResult } from './results.ts'

/** One run under way, whoever still waits for it. */
export interface Task {
  readonly request: Request
  readonly running: Running
  readonly capture: Capture
  /** The final result. */
  readonly ended: Promise<Result>
  /** Settles when the deadline passes and the run is to go on as a job (`on_timeout: background`). */
  readonly leftAtDeadline: Promise<void>
  /** The first reason is kept; later calls only wait. */
  stop(reason: StopReason): Promise<void>
  /** A short sentence for the reader of the result. */
  notice(text: string): void
  /** What can be said now. */
  look(): Result
  /** Output came: the silence begins again. */
  touch(): void
  /** How long nothing has been written. */
  quietMs(): number
}

export interface TaskParts {
  request: Request
  running: Running
  capture: Capture
  startedAtMs: number
  /** Aborting it stops the run. */
  signal: AbortSignal | undefined
  /** Takes the final result before anybody else sees it. */
  settle(result: Result): Promise<Result>
}

/** Follows a started run to its end. Every cause of a stop comes together in `stop`. */
export function createTask(parts: TaskParts): Task {
  const { request, running, capture, signal } = parts
  const notices: string[] = []
  let stopping: { reason: StopReason; report: Promise<StopReport> } | null = null
  let final: Result | null = null
  let leave = () => {}
  const leftAtDeadline = new Promise<void>((resolve) => {
    leave = resolve
  })

  const deadlines: Deadlines = createDeadlines(request, {
    onTimeout() {
      if (request.onTimeout === 'background') leave()
      else void stop('timeout')
    },
    onInactivity: () => void stop('inactivity'),
  })
  const onAbort = () => void stop('cancel')
  if (signal?.aborted) onAbort()
  else signal?.addEventListener('abort', onAbort, { once: true })

  async function stop(reason: StopReason): Promise<void> {
    if (final) return
    stopping ??= { reason, report: running.stop(reason) }
    await stopping.report
  }

  function progress(captured: Captured) {
    const durationMs = nowMs() - parts.startedAtMs
    return { captured, durationMs, notices, sandbox: running.sandbox }
  }

  async function end(): Promise<Result> {
    const exit = await running.exited
    const stopped = stopping
      ? { reason: stopping.reason, survivors: (await stopping.report).survivors }
      : null
    deadlines.clear()
    signal?.removeEventListener('abort', onAbort)
    const measured = progress(await capture.finish())
    const result = endedResult(request, { ...measured, exit, stopped })
    try {
      return await parts.settle(result)
    } finally {
      final = result
    }
  }

  return {
    request,
    running,
    capture,
    ended: end(),
    leftAtDeadline,
    stop,
    notice(text) {
      if (final) final.notices.push(text)
      else notices.push(text)
    },
    look: () =>
      final ??
      runningResult(request, progress(capture.snapshot()), running.waitingForInput?.() ?? null),
    touch: () => deadlines.touch(),
    quietMs: () => deadlines.quietMs(),
  }
}
