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
import { nameSignal } from '../system/process/process-table.ts'
import type { Result, SandboxUse, StopReason, TaskSummary } from '../protocol/result/result.ts'
import type { Verdict } from '../protocol/rules.ts'
import { describeFailures } from '../protocol/array.ts'

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
  const text = request.streams === 'merged' ? { output: '' } : { stdout: '', stderr: '' }
  return Object.assign(beginResult(request, text), { notices: [...request.notices] })
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
    return {
      ...result,
      status: 'stopped',
      signal,
      reason,
      survivors: stopped.survivors,
      ...(limitMs !== null && { limitSeconds: limitMs / 1000 }),
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

/** Exit codes by which a program says something other than "failed", as its manual page has it. */
const meanings: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  grep: { 1: 'no lines matched', 2: 'grep failed' },
  egrep: { 1: 'no lines matched' },
  fgrep: { 1: 'no lines matched' },
  zgrep: { 1: 'no lines matched' },
  rg: { 1: 'no lines matched', 2: 'ripgrep failed' },
  ag: { 1: 'no lines matched' },
  diff: { 1: 'files differ', 2: 'diff failed' },
  cmp: { 1: 'files differ', 2: 'cmp failed' },
  colordiff: { 1: 'files differ' },
  test: { 1: 'the condition is false' },
  '[': { 1: 'the condition is false' },
  '[[': { 1: 'the condition is false' },
  timeout: { 124: 'timed out', 137: 'timed out and was killed' },
  pgrep: { 1: 'no process matched' },
  pkill: { 1: 'no process matched' },
  which: { 1: 'not on the PATH' },
  expr: { 1: 'the expression is empty or 0' },
  curl: {
    6: 'host could not be resolved',
    7: 'could not connect',
    22: 'the server answered with an error',
    28: 'timed out',
    35: 'TLS handshake failed',
  },
  ssh: { 255: 'ssh itself failed' },
  pytest: { 1: 'tests failed', 2: 'interrupted', 4: 'wrong usage', 5: 'no tests were collected' },
  git: { 128: 'git failed', 129: 'wrong usage' },
  make: { 2: 'make failed' },
}

/** What shells mean by the codes that they give themselves. */
const shellMeanings: Readonly<Record<number, string>> = {
  126: 'not executable',
  127: 'command not found',
}

/** What an exit code says, where the program that gave it is known; else null. */
function describeExit(command: string, exitCode: number): string | null {
  if (exitCode === 0) return null
  const known = meanings[lastProgram(command)]?.[exitCode] ?? shellMeanings[exitCode]
  if (known) return known
  const signal = nameSignal(exitCode - 128)
  return signal ? `a command was ended by ${signal}` : null
}

/**
 * The program whose status a simple command line ends with. Text in quotes is left out first, so
 * that a separator within does not count; what is not understood gives no name.
 */
function lastProgram(command: string): string {
  const bare = command.replaceAll(/\\.|'[^']*'|"(?:\\.|[^"\\])*"/gs, '_').trim()
  const last = bare.split(/\|\||&&|[|;\n]/).at(-1) ?? ''
  const words = last.trim().split(/\s+/)
  const first = words.find((word) => !/^[A-Za-z_]\w*=/.test(word)) ?? ''
  return first.split('/').at(-1) ?? ''
}
