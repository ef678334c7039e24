import * as shape from './shape/shape.ts'
import type { ListenerAnswer, StreamName } from './result/event.ts'
import type { Request, RequestInput } from './request/request.ts'
import type {
  failureShape,
  InputKind,
  SandboxUse,
  StopReason,
  Survivor,
  TaskSummary,
  Usage,
} from './result/result.ts'
import type { Verdict } from './rules.ts'
import type { TaskCounts, TaskEnd } from './array.ts'

/** How a process ended, as the system tells it: exactly one of the first two is set. */
export interface Exit {
  code: number | null
  /** `SIGTERM`, … */
  signal: string | null
  /** Every stage of the last pipeline, where the shell can tell. */
  pipeStatus?: number[] | null
  /** The host was lost while the command ran: what is known of it, for the reader. */
  lost?: string
  /** What has ended it but a stop of this run: the scheduler of its host, or what has ended its start. */
  stoppedBy?: StopReason
  /** How long it took, where its host has measured that. */
  durationMs?: number
  /** How the tasks of an array have ended. */
  tasks?: TaskSummary
  /** Where it began, as its host tells it; null: that has not told. */
  startedIn?: string | null | undefined
  /** Where a session stands afterwards. */
  cwd?: string
  /** The process ran, but came to an end before the command: what prepares it has failed. */
  notStarted?: StartFailure
  /** Short sentences for the reader: a lost session shell, processes left behind. */
  notices?: string[]
  /** What the run used of the machine, where the system tells. */
  usage?: Usage | null
  /** What confined it, where its host tells that at the end. */
  sandbox?: SandboxUse
}

export interface StopReport {
  /** The processes that were still alive in spite of KILL. */
  survivors: Survivor[]
  /** Short sentences for the reader: what may have been left behind. */
  notices?: string[]
}

/** The reason of an abort that is a person's Ctrl-C, or SIGINT to nacre: the run ends by INT first. */
export const interruption = 'SIGINT'

/** The reason of an abort by which nacre itself ends: TERM, HUP and whatever else ends it but Ctrl-C. */
export const shutdown = 'shutdown'

/** How a run is stopped, beside the reason for it. */
export interface StopOptions {
  /** As a person's Ctrl-C does it: INT comes before the signal that the request names. */
  interrupt?: boolean
}

/** The start failed. */
export type StartFailure = shape.Infer<typeof failureShape>

/** The exit status that tells of such a failure, as a shell has it: 126 not executable, 127 not found, else 125. */
export function statusOfFailure(code: string | undefined): 125 | 126 | 127 {
  if (code === 'shell_not_found' || code === 'program_not_found') return 127
  if (code === 'shell_not_executable' || code === 'program_not_executable') return 126
  return code === 'too_long' ? 126 : 125
}

/** What confines a run. */
export interface Bounds {
  network: 'on' | 'off'
  /** The folders that it may write; null: on another machine, which finds them. */
  writable: readonly string[] | null
}

/** One process (tree) under way. */
export interface Running {
  /** Null while the run waits for its turn in a session. */
  pid(): number | null
  /** Null where the request asked for none. */
  readonly sandbox: SandboxUse | null
  /** Null: nothing confines it, or it is not known how far. */
  readonly bounds: Bounds | null
  /** Settles when the command has begun, where it may wait for that; its deadline counts from then. */
  readonly begun: Promise<void> | null
  /** Settles when the command has ended and every byte that it wrote is in the sink. Never rejects. */
  readonly exited: Promise<Exit>
  /**
   * Writes to the terminal, or to a standard input that was given as `open`, in order. Settles when all
   * of it has been taken; rejects with `MisuseError` where nobody reads.
   */
  write(data: string): Promise<void>
  /**
   * Ends the input after what was written: end of file, or Ctrl-D on a terminal. Throws `MisuseError`
   * where there is none.
   */
  endInput(): void
  /** Only a terminal has a size; elsewhere this does nothing. */
  resize(columns: number, rows: number): void
  /** Its caller waits no more: a session on a terminal goes on without it, in another shell. */
  leave(): void
  /**
   * Sends the request's signal to everything that the run started, and KILL after the grace. Settles
   * when that is done.
   */
  stop(reason: StopReason, options?: StopOptions): Promise<StopReport>
  /** The path of the control group that holds all of it; null where the kernel gives none. */
  group(): string | null
  /** Whether a run that can be written to waits for input, and for which kind of it. */
  waitingForInput(): InputKind | null
  /** How the tasks of an array stand; null for any other run. */
  tasks(): TaskSummary | null
  /** Where it goes on without this process; null where it does not. */
  readonly kept: KeptPlace | null
}

/** By which a job on another machine is found again. */
export interface KeptPlace {
  address: string
  /** The random word by which both sides know it. */
  name: string
}

/**
 * Takes the bytes of a run. The memory of `bytes` belongs to the caller and is used again after the
 * write returns or its promise settles. A returned promise pauses the process.
 */
export interface OutputSink {
  write(stream: StreamName, bytes: Uint8Array): ListenerAnswer | Promise<ListenerAnswer>
  /** Is told that a task of an array has ended. */
  tellTask?: (end: TaskEnd, counts: TaskCounts) => ListenerAnswer | Promise<ListenerAnswer>
}

/**
 * Starts a request's process. Rejects with `StartError` only: also where `signal`, that of the caller, aborts
 * during a start that takes long.
 */
export type Runner = (request: Request, sink: OutputSink, signal?: AbortSignal) => Promise<Running>

export class StartError extends Error {
  override readonly name = 'StartError'
  readonly failure: StartFailure
  /** Why the start was given up; null where it failed by itself. */
  readonly reason: StopReason | null
  constructor(code: string, message: string, reason: StopReason | null = null) {
    super(message)
    this.failure = { code, message }
    this.reason = reason
  }
}

/** Decides whether a request may run. It is a pure function, without input or output. */
export type Guard = (request: GuardedRequest) => Verdict | Promise<Verdict>

/** `isConfined`: a sandbox is certain to confine the run, which `auto` leaves to the machine. Default: false. */
export type GuardedRequest = Request & { readonly isConfined?: boolean }

export const sessionInfoShape = shape.object({
  name: shape.anyText(),
  /** Of its shell; null before the first run and after the shell's end. */
  pid: shape.nullable(shape.integer()),
  /** Where it stands. */
  cwd: shape.anyText(),
  busy: shape.boolean(),
  /** Runs that wait for their turn. */
  queued: shape.integer(),
  idleMs: shape.number('', { minimum: 0 }),
})
/** A session as a list shows it. */
export interface SessionInfo extends shape.Infer<typeof sessionInfoShape> {}

/** The shells that keep their state. One is opened by the first run that names it. */
export interface Sessions {
  list(): SessionInfo[]
  /** Ends the session with all that it started. False: there is none of that name. */
  close(name: string): Promise<boolean>
  /**
   * Starts the shell of a session on a terminal ahead of its first command; `input` is that of its runs
   * (`pty`, `session`), whatever its command. Rejects with `MisuseError`.
   */
  open(input: RequestInput): Promise<TerminalSession>
}

/** Hears what a session on a terminal has to say beside its runs. */
export interface TerminalSessionListener {
  /** What is written while no command runs: by start files, prompt hooks, background jobs. */
  onOutput(bytes: Uint8Array, phase: 'start' | 'hook' | 'idle'): void
  /** A sentence for the person: the shell was replaced, its start files failed. */
  onNotice(text: string): void
}

/** What a command has left suspended or in the background. `run`: the id of that command's run. */
export interface SessionJob {
  run: string
  command: string
}

/** A person's shell on a terminal, beside the runs that the executor starts in it. */
export interface TerminalSession {
  info(): SessionInfo
  listen(listener: TerminalSessionListener): void
  /**
   * What the shell would make of the unfinished last word of a line: first that word as the shell reads
   * it, then every candidate for it. Null: it runs something, or cannot say.
   */
  complete(line: string): Promise<string[] | null>
  /** What its shells hang up at their end. */
  listJobs(): Promise<SessionJob[]>
  /** To what runs on the terminal, also while the shell still starts. */
  type(data: string): void
  resize(size: { columns: number; rows: number }): void
}
