import type { RequestInput } from './request/request.ts'
import * as shape from './shape/shape.ts'

export const sessionInfoShape = shape.object({
  name: shape.anyText(),
  /** Of its shell; null before the first run and after the shell's end. */
  pid: shape.nullable(shape.integer()),
  /** Where it stands. */
  cwd: shape.anyText(),
  busy: shape.boolean(),
  /** Runs that wait for their turn. */
  queued: shape.integer(),
  idleMs: shape.number('', { min: 0 }),
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
