import {
  type Exit,
  type OutputSink,
  StartError,
  type StopOptions,
  type StopReport,
  type TerminalSessionListener,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { ControlGroup, UsageSource } from '../../system/process/control-group.ts'
import type { FileIdentity } from '../../system/process/process-table.ts'
import { markVariable, sessionVariable } from '../../system/process/own-process.ts'
import type { Launch } from '../launch.ts'
import type { TerminalKeys } from './queue.ts'
import type { ShellJob } from './shell-jobs.ts'

/** A shell that lives on between commands, on pipes, on a terminal, or on another machine. */
export type KeptShell = LocalShell | HostShell

interface AnyShell extends UsageSource {
  readonly alive: boolean
  /** Holds all that it starts; null where the kernel gives none. */
  readonly group: ControlGroup | null
  /** Where it began. */
  readonly cwd: string
  readonly terminal: TerminalShell | null
  /** Settles when it can take a command; with false when it has ended. */
  ready(): Promise<boolean>
  /**
   * Runs a command in `cwd`, where the session stands. One at a time. Rejects with `StartError` if it
   * cannot be begun.
   */
  begin(request: Request, sink: OutputSink, cwd: string): Promise<ShellTurn>
  /** Lets it go. Settles when it has ended. */
  close(): Promise<void>
  readonly ended: Promise<Exit>
}

export interface LocalShell extends AnyShell {
  readonly pid: number
  /** The mark in the environment of all that it starts, unless a command has put its own there. */
  readonly mark: string
  /** Has the shell leave the rest of its command. `over` aborts at the end of that. */
  skipRest(over: AbortSignal, graceMs: number): Promise<void>
  /**
   * Does so once more: the shell may have gone on with the next part of the command, or be suspended. `isOver`:
   * it has left the command.
   */
  nudge(isOver: boolean): void
  /** What its processes write to, by which they are found. */
  files(): readonly FileIdentity[]
}

/** One whose processes are out of reach of signals. */
export interface HostShell extends AnyShell {
  readonly pid: null
  /** Ends a command with all that it started. */
  stop(turn: ShellTurn, request: Request, how?: StopOptions): Promise<StopReport>
}

/** What only a shell on a terminal can. */
export interface TerminalShell extends TerminalKeys {
  /** What the shell would complete the line with, its last word first; null: it cannot say now. */
  complete(line: string): Promise<string[] | null>
  /** Words of the shell that export what it exported at its last prompt. */
  readExports(): string
  /** What commands have left behind in it: running and suspended jobs. */
  listJobs(): ShellJob[]
  /** The process groups of the jobs that the shell knows; at its prompt only. */
  askGroups(): Promise<number[]>
}

/** One command. No promise rejects. */
export interface ShellTurn {
  /** False: the command was taken back before the shell took it. */
  readonly begun: Promise<boolean>
  /** Settles when the shell has told the end of the command, or has ended itself. */
  readonly told: Promise<unknown>
  /** To be called when it has, and after any stop. Settles when all output is in the sink. */
  finish(stopped: boolean): Promise<TurnEnd>
  /** Takes the command back unless it has begun. */
  revoke(): void
  /** What the command writes to. */
  files(): readonly FileIdentity[]
}

/** How a command ended: the shell told it, or has ended itself. */
export type TurnEnd =
  | {
      kind: 'told'
      status: number
      /** Every stage of the last pipeline; null if the shell could not be asked. */
      stages: number[] | null
      /** Null: it has not said. */
      cwd: string | null
      /** Where the command began, if that was not here. */
      startedIn?: string | undefined
      notices: string[]
      /** Why the shell cannot run another command; null: it can. */
      unfit: string | null
    }
  | {
      /** The shell has ended, or a shell on another machine has refused the command. */
      kind: 'gone'
      exit: Exit
    }

/** How a shell is to begin. */
export interface Beginning {
  /** Its first command. */
  request: Request
  cwd: string
  /** The marks of this shell and of all shells of its session. */
  mark: string
  sessionMark: string
  /** Aborting it ends a shell that is not ready yet. */
  signal: AbortSignal
  /** A sentence for the reader. */
  tell: (notice: string) => void
  /** For a shell on a terminal; null: it is on pipes. */
  terminal: {
    /** Asked when the terminal is opened: it may have changed until then. */
    size: () => TerminalSize
    /** What `readExports` of the shell before has given; empty: there was none. */
    exports: string
    /** Whether what its start files say has been said by another shell of the session. */
    isRepeated: boolean
    onOutput: TerminalSessionListener['onOutput']
    /** The shell takes keys from now on, while it starts: its start files may ask something. */
    arise(keys: TerminalKeys): void
  } | null
}

/** Settles when the shell is ready for its first command. Rejects with `StartError`. */
export type StartShell = (beginning: Beginning) => Promise<KeptShell>

/** Prepares the shell where its session stands, else, with a notice, where the request wants to be. */
export async function prepareInPlace(
  { request, cwd, tell }: Pick<Beginning, 'request' | 'cwd' | 'tell'>,
  prepare: (cwd: string) => Promise<Launch>,
): Promise<Launch> {
  try {
    return await prepare(cwd)
  } catch (error) {
    if (!(error instanceof StartError) || cwd === request.cwd) throw error
    const launch = await prepare(request.cwd)
    tell(`${error.message}; the shell starts in ${request.cwd}`)
    return launch
  }
}

/** Marks all that a shell starts. */
export function addMarks(
  { env, ...launch }: Launch,
  { mark, sessionMark }: Pick<Beginning, 'mark' | 'sessionMark'>,
): Launch {
  return { ...launch, env: { ...env, [markVariable]: mark, [sessionVariable]: sessionMark } }
}
