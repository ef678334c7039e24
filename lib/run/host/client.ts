import { type Exit, StartError, type StopReport } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { ToldResult } from '../../protocol/result/result.ts'

/** The system's own client of a host: its configuration, keys and policies hold. */
export interface HostClient {
  /**
   * Makes sure that the host answers, where its client keeps a connection open. Rejects with
   * `StartError`, also where `signal` aborts before.
   */
  connect(signal: AbortSignal): Promise<void>
  /** The program and its words that run a script there; `request`: as that run. */
  compose(script: string, terminal: boolean, request?: Request): { file: string; args: string[] }
  /** Set where the host is a scheduler, which starts and ends runs in its own time. */
  readonly scheduler: Scheduler | null
  close(): Promise<void>
}

/** What a scheduler knows of the jobs that it was given, by the ids of their runs. */
export interface Scheduler {
  /**
   * Ends the job of a run, whether it runs or waits. Settles when nothing of it runs any more. The script
   * of the run has so long to end it by itself.
   */
  cancel(runId: string, graceMs: number): Promise<StopReport>
  /** How the job of a run has ended, as the scheduler tells it over what was heard of it here. */
  describeEnd(runId: string, heard: Heard, exit: Exit): Promise<Exit>
}

/** What was heard of a command on another machine: each frame of its script tells a part. */
export interface Heard {
  begun: boolean
  /** The directory in which it began. */
  startedIn: string | null
  /** The process id of the command over there. */
  pid: number | null
  code: number | null
  /** What ended the command, where the shell over there could tell. */
  signal: string | null
  /** How long the command took, by the clock over there; null where that counts no milliseconds. */
  durationMs: number | null
  /** What the shell over there has counted. */
  used: { userMs: number; systemMs: number } | null
  /** A nacre over there is to carry the command. */
  carried: boolean
  /** That nacre has understood what it is to do. */
  taken: boolean
  /** What that nacre tells of the end. */
  told: ToldResult | null
  refused: string | null
  /** This side has begun to end the run. */
  isStopped: boolean
  /** The script over there has ended the command at its deadline. */
  timedOut: boolean
  /** Where a session stands; the status of its shell, where that has ended. */
  cwd: string | null
  gone: number | null
  /** Nobody here reads what the command writes to one of its streams. */
  isUnread: boolean
  /** The last of what came on standard error: a client that fails says why there. */
  lastWords: string
}

export function unreachable(host: string, why: string): StartError {
  const message = `The host ${host} could not be reached: ${why || 'its client said nothing'}`
  return new StartError('host_unreachable', message)
}

export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? ''
}
