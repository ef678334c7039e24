import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createDeferred } from '../../protocol/deferred.ts'
import { type Exit, StartError, type StopReport } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { sendSignal } from '../../system/process/process-table.ts'
import { findProgram } from '../../system/look.ts'
import { describeScarcity } from '../start-failure.ts'
import type { Heard } from './frames.ts'

/** The environment of nacre, in which the client of a host finds its configuration. */
export type ClientEnvironment = Readonly<Record<string, string | undefined>>

/** The system's own client of a host: its configuration, keys and policies hold. */
export interface HostClient {
  /**
   * Makes sure that the host answers, if its client keeps a connection open. Rejects with
   * `StartError`, also if `signal` aborts before.
   */
  connect(signal: AbortSignal): Promise<void>
  /** The program and its words that run a script there; `request`: as that run. */
  compose(script: string, terminal: boolean, request?: Request): { file: string; args: string[] }
  /** Set if the host is a scheduler, which starts and ends runs in its own time. */
  readonly scheduler: Scheduler | null
  /** Variables of its own environment may reach the command there (ssh_config(5), SendEnv; srun(1), --export). */
  readonly sendsVariables: boolean
  close(): Promise<void>
}

/** What a scheduler knows of the jobs that it was given, by the ids of their runs. */
export interface Scheduler {
  /**
   * Ends the job of a run, whether it runs or waits. Settles when nothing of it runs any more. The script
   * of the run has so long to end it by itself.
   */
  cancel(runId: string, graceMs: number): Promise<StopReport>
  /** How the job of a run has ended; null: the scheduler does not know better than what was heard of it here. */
  describeEnd(runId: string, heard: Heard): Promise<Exit | null>
}

/** The path of a client. Throws `StartError` if there is none. */
export function findClient(name: string, { PATH = '/usr/bin:/bin' }: ClientEnvironment): string {
  const found = findProgram(name, PATH)
  if (found !== null) return found
  const message = `${name} is not on the PATH: install it to reach such hosts`
  throw new StartError('host_client_missing', message)
}

/** Starts a client on pipes. Throws `StartError` if the system has no descriptors for them. */
export function startClient(
  file: string,
  args: readonly string[],
  environment: ClientEnvironment,
): ChildProcessWithoutNullStreams {
  const child = spawn(file, args, { env: environment, stdio: 'pipe', detached: true })
  if ((child as Partial<typeof child>).stdin) return child
  child.once('error', () => undefined)
  throw describeScarcity('EMFILE')
}

/** What a program has written until its end. */
export interface ProgramOutput {
  /** Null: it could not be started, or had to be ended. */
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program of this machine to its end, so long at most. */
export async function callProgram(
  { file, args }: { file: string; args: readonly string[] },
  how: { mostMs: number; input?: string; env?: ClientEnvironment },
): Promise<ProgramOutput> {
  const child = spawn(file, args, { env: how.env, stdio: 'pipe', detached: true })
  const written = { stdout: '', stderr: '' }
  const { promise, resolve: settle } = createDeferred<number | null>()
  child.once('error', (error) => {
    written.stderr += error.message
    settle(null)
  })
  child.once('close', settle)
  // There are no streams if the system had no descriptors for them.
  const { stdin, stdout, stderr } = child as Partial<typeof child>
  stdout?.setEncoding('utf8').on('data', (text: string) => (written.stdout += text))
  stderr?.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  stdin?.on('error', () => undefined)
  stdin?.end(how.input)
  const over = setTimeout(() => {
    // What it has started may keep its streams open for ever.
    if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL')
    settle(null)
  }, how.mostMs)
  const code = await promise
  clearTimeout(over)
  stdout?.destroy()
  stderr?.destroy()
  return { ...written, code }
}

export function unreachable(host: string, why: string): StartError {
  const message = `The host ${host} could not be reached: ${why || 'its client said nothing'}`
  return new StartError('host_unreachable', message)
}

export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)?.trim() ?? ''
}
