import { describeExit } from './exit-meaning.ts'
import type { Captured } from '../output/capture.ts'
import {
  type Exit,
  shutdown,
  type StartFailure,
  statusOfFailure,
  type StopReport,
} from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import { roundMs } from '../system/clock.ts'
import type { Result, SandboxUse, StopReason, TaskSummary } from '../protocol/result/result.ts'
import { describeFailures } from '../protocol/result/tasks.ts'
import type { Verdict } from '../protocol/result/verdict.ts'

/** What every result begins as; the ways to end are laid over it. */
export function beginResult(
  { id, origin, command, cwd, host }: Pick<Result, 'id' | 'origin' | 'command' | 'cwd' | 'host'>,
  text: Pick<Result, 'output' | 'stdout' | 'stderr'>,
): Result {
  return {
    id,
    origin,
    command,
    cwd,
    status: 'running',
    exitCode: null,
    signal: null,
    reason: null,
    exitMeaning: null,
    pipeStatus: null,
    waitingForInput: null,
    survivors: [],
    host,
    durationMs: 0,
    ...text,
    truncation: null,
    artifact: null,
    jobId: null,
    error: null,
    verdict: null,
    usage: null,
    notices: [],
  }
}

function begin(request: Request): Result {
  const result = beginResult(request, emptyText(request))
  result.notices.push(...request.notices)
  return result
}

function emptyText(request: Request): Pick<Result, 'output' | 'stdout' | 'stderr'> {
  return request.streams === 'merged' ? { output: '' } : { stdout: '', stderr: '' }
}

export function deniedResult(request: Request, verdict: Verdict): Result {
  return { ...begin(request), status: 'denied', verdict }
}

/** `reason`: why the start was given up. */
export function notStartedResult(
  request: Request,
  failure: StartFailure,
  reason: StopReason | null = null,
): Result {
  const status = statusOfFailure(failure.code)
  const exitMeaning = status === 125 ? null : describeExit(request.command, status)
  return { ...begin(request), status: 'not_started', error: failure, reason, exitMeaning }
}

/** The result of a run whose caller had aborted it before anything was started. */
export function neverStartedResult(request: Request, { reason }: AbortSignal): Result {
  const message = 'The command never started: it was cancelled before'
  const failure = { code: 'never_started', message }
  return notStartedResult(request, failure, reason === shutdown ? shutdown : 'cancel')
}

export interface Progress {
  sandbox: SandboxUse | null
  tasks: TaskSummary | null
  captured: Captured
  durationMs: number
  notices: readonly string[]
}

export function runningResult(
  request: Request,
  progress: Progress,
  waitingForInput: Result['waitingForInput'],
): Result {
  const result = withProgress(request, progress)
  result.jobId = request.id
  result.waitingForInput = waitingForInput
  return result
}

/** A stop by nacre. */
type Stopped = { reason: StopReason } & StopReport

export function endedResult(
  request: Request,
  progress: Progress,
  exit: Exit,
  ownStop: Stopped | null,
): Result {
  const stopped = ownStop ?? describeForeignStop(exit)
  const result = withProgress(request, progress)
  result.pipeStatus = exit.pipeStatus ?? null
  result.usage = exit.usage ?? null
  if (exit.durationMs !== undefined) result.durationMs = exit.durationMs
  if (exit.sandbox) result.sandbox = exit.sandbox
  if (exit.tasks) result.tasks = exit.tasks
  result.cwd = exit.startedIn ?? result.cwd
  if (exit.notStarted) {
    const reason = stopped?.reason ?? null
    return { ...result, status: 'not_started', reason, error: exit.notStarted }
  }
  if (stopped) {
    const survivors = stopped.survivors.map(
      ({ pid, command }) => `Could not be stopped and is still alive: ${pid} ${command}`,
    )
    const { reason } = stopped
    result.notices.push(...survivors, ...(stopped.notices ?? []))
    const { signal } = exit
    const limitMs = limitOf(request, reason)
    const isOfCaller = reason === 'cancel' || reason === shutdown
    const ownExitCode = isOfCaller && isSeen(request) ? exit.code : null
    return {
      ...result,
      status: 'stopped',
      signal,
      reason,
      survivors: stopped.survivors,
      ...(limitMs !== null && { limitSeconds: limitMs / 1000 }),
      ...(ownExitCode !== null && { ownExitCode }),
    }
  }
  result.notices.push(...(exit.notices ?? []))
  if (exit.lost !== undefined) {
    return { ...result, status: 'lost', error: { code: 'host_lost', message: exit.lost } }
  }
  if (exit.signal !== null) return { ...result, status: 'signaled', signal: exit.signal }
  result.status = 'exited'
  result.exitCode = exit.code
  result.exitMeaning = exit.tasks
    ? describeFailures(exit.tasks)
    : describeExit(request.command, exit.code ?? 0)
  return result
}

/** Whether nacre sees the end itself, not through a shell, to which an end by a signal is an exit code. */
function isSeen({ session, host, sandbox, array }: Request): boolean {
  return session === null && host === null && sandbox === 'off' && array === null
}

/** A stop that nobody has asked of this run. */
function describeForeignStop({ stoppedBy, notices = [] }: Exit): Stopped | null {
  return stoppedBy === undefined ? null : { reason: stoppedBy, survivors: [], notices }
}

function limitOf({ timeoutMs, inactivityMs }: Request, reason: StopReason): number | null {
  if (reason === 'timeout') return timeoutMs
  return reason === 'inactivity' ? inactivityMs : null
}

function withProgress(request: Request, progress: Progress): Result {
  const { captured, durationMs, notices, sandbox, tasks } = progress
  const result = Object.assign(begin(request), captured)
  if (sandbox) result.sandbox = sandbox
  if (tasks) result.tasks = tasks
  result.durationMs = roundMs(durationMs)
  result.notices = [...request.notices, ...notices, ...captured.notices]
  return result
}
