/** Who asked. */
export const origins = ['repl', 'print', 'rpc', 'agent', 'mcp'] as const
export type Origin = (typeof origins)[number]

export const modes = ['default', 'slow', 'background'] as const
export type TimeMode = (typeof modes)[number]

export const truncateModes = ['tail', 'head-tail', 'middle', 'none'] as const
export type Truncate = (typeof truncateModes)[number]

export const streamModes = ['merged', 'separate'] as const
export type StreamMode = (typeof streamModes)[number]

export const sandboxModes = ['off', 'read-only', 'workspace'] as const
export type SandboxMode = (typeof sandboxModes)[number]

export const artifactModes = ['auto', 'always', 'never'] as const
export type ArtifactMode = (typeof artifactModes)[number]

/** When a run that is still going returns: its port listens, a line matches, or its output pauses. */
export type Ready =
  | { kind: 'port'; port: number }
  | { kind: 'regex'; source: string }
  | { kind: 'quiet'; quietMs: number }

/**
 * What the process reads: nothing, a descriptor of ours handed on as it is, a text, or what is written
 * to it while it runs (`open`).
 */
export type Stdin =
  | { kind: 'none' }
  | { kind: 'closed' }
  | { kind: 'descriptor'; fd: number }
  | { kind: 'text'; text: string }
  | { kind: 'open' }

/** How a terminal run is first drawn. */
export interface TerminalSize {
  columns: number
  rows: number
}

/**
 * What a front door reads: flat, untrusted, everything optional but the command and who asked.
 * Field by field the same as the options of the command line; see `fields.ts` for ranges.
 */
export interface RequestInput {
  command: string
  origin: Origin
  cwd?: string
  env?: Record<string, string>
  timeoutSeconds?: number
  mode?: TimeMode
  onTimeout?: 'kill' | 'background'
  inactivitySeconds?: number
  waitSeconds?: number
  ready?: string
  pty?: boolean
  columns?: number
  rows?: number
  session?: string
  streams?: StreamMode
  head?: number
  tail?: number
  maxLines?: number
  maxBytes?: number
  truncate?: Truncate
  sandbox?: SandboxMode
  network?: 'on' | 'off'
  workspace?: string
  shell?: string
  login?: boolean
  guard?: boolean
  hardening?: boolean
  artifact?: ArtifactMode
  stdin?: Stdin
  /** In place of `stdin`: one that stays open, for `jobs.write`. */
  openStdin?: boolean
}

/** What may be laid under the input of every request. */
export type RequestDefaults = Readonly<Partial<Omit<RequestInput, 'command' | 'origin' | 'stdin'>>>

/** Everything a run needs, checked and complete. */
export interface Request {
  readonly id: string
  readonly origin: Origin
  readonly command: string
  /** Absolute. Whether it exists is checked when the run starts. */
  readonly cwd: string
  /** Whether the caller named it. A session moves there only then. */
  readonly cwdGiven: boolean
  /** What the caller adds over the environment of the run. */
  readonly env: Readonly<Record<string, string>>
  readonly mode: TimeMode
  /** Null: no deadline. */
  readonly timeoutMs: number | null
  readonly onTimeout: 'kill' | 'background'
  readonly inactivityMs: number | null
  /** Null: to the end. 0: return at once. */
  readonly waitMs: number | null
  readonly ready: Ready | null
  /** Null: no terminal. */
  readonly pty: TerminalSize | null
  readonly session: string | null
  readonly streams: StreamMode
  readonly head: number | null
  readonly tail: number | null
  readonly maxLines: number
  readonly maxBytes: number
  readonly truncate: Truncate
  readonly sandbox: SandboxMode
  /** The caller itself asked: without one the run does not start, whatever is configured. */
  readonly sandboxGiven: boolean
  readonly network: 'on' | 'off'
  /** Null: the git root above cwd, else cwd. */
  readonly workspace: string | null
  /** Null: the default of the origin. */
  readonly shell: string | null
  readonly login: boolean
  readonly guard: boolean
  readonly hardening: boolean
  readonly artifact: ArtifactMode
  readonly stdin: Stdin
  /** What was changed on the way in (a clamped timeout); goes into the result. */
  readonly notices: readonly string[]
}
