import type { ArrayRequest } from '../array.ts'
import { fields, subjects } from './fields.ts'
import { type Origin, origins } from '../origin.ts'
import * as shape from '../shape/shape.ts'

/** Who asked. */
export type { Origin } from '../origin.ts'
export type TimeMode = NonNullable<RequestInput['mode']>
export type Truncate = NonNullable<RequestInput['truncate']>
export type StreamMode = NonNullable<RequestInput['streams']>
export type SandboxMode = NonNullable<RequestInput['sandbox']>
export type ArtifactMode = NonNullable<RequestInput['artifact']>

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
  | { kind: 'descriptor'; fd: number }
  | { kind: 'text'; text: string }
  | { kind: 'open' }

/**
 * Descriptors of this process that become the command's own standard output and error: what it writes
 * never passes through nacre, and the result has no text.
 */
export interface OutputTo {
  stdout: number
  stderr: number
}

/** How a terminal run is first drawn. */
export interface TerminalSize {
  columns: number
  rows: number
}

export const requestShape = shape.object(
  {},
  {
    /** Who asks, by which defaults and trust are chosen; in the library `print`, a program's own command, unless given. */
    origin: shape.choice(origins),
    belongsTo: shape.text(
      'The conversation or connection of a model that it belongs to (default: a person)',
    ),
    ...subjects,
    shellCommand: shape.text(
      'What a shell of its own is given in place of the command: the same with more output',
    ),
    ...fields,
    stdin: shape.anything<Stdin>('What the command reads (default: nothing)'),
    outputTo: shape.anything<OutputTo>(
      'Descriptors that the command writes to itself, where nothing else needs its output',
    ),
  },
)

/**
 * What a front door reads: flat, untrusted, everything optional but what is to run
 * (one of `command`, `args`, `commands` and `script`).
 * Field by field the same as the options of the command line; `fields.ts` says what each means.
 */
export interface RequestInput extends shape.Infer<typeof requestShape> {}

/** The fields of a request that options, keys of the configuration and parameters set. */
export type RunFields = Partial<shape.InferFields<typeof fields>>

/** What may be laid under the input of every request. */
export type RequestDefaults = Readonly<RunFields>

/** Everything a run needs, checked and complete. */
export interface Request {
  readonly id: string
  readonly origin: Origin
  /** The conversation or connection of a model that it belongs to; null: a person of this system. */
  readonly belongsTo: string | null
  /** What runs, as a command line: also of a program with its words, or of a script. */
  readonly command: string
  /** What a fresh shell is given in its place; null: the command itself. */
  readonly shellCommand: string | null
  /** A program and its words, with no shell in between; null: a shell runs it. */
  readonly args: readonly string[] | null
  /** The file that the shell runs in place of a command. */
  readonly script: string | null
  readonly parameters: readonly string[]
  /** By their names in `set -o`. */
  readonly shellOptions: readonly string[]
  /** Absolute; on a host as it was given. Whether it exists is checked when the run starts. */
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
  /** What asks its processes to end when it is stopped. */
  readonly signal: NodeJS.Signals
  /** From that signal to KILL. */
  readonly killAfterMs: number
  /** Null: to the end. 0: return at once. */
  readonly waitMs: number | null
  readonly ready: Ready | null
  /** Null: no terminal. */
  readonly pty: TerminalSize | null
  readonly session: string | null
  /** Null: this machine. */
  readonly host: string | null
  /** For a scheduler: how many cores and how much memory; null: what it gives by itself. */
  readonly cores: number | null
  readonly memory: string | null
  /** More options of sbatch(1), one a word. */
  readonly sbatch: readonly string[]
  /** Null: it runs once. */
  readonly array: ArrayRequest | null
  readonly streams: StreamMode
  readonly head: number | null
  readonly tail: number | null
  readonly maxLines: number
  readonly maxBytes: number
  readonly truncate: Truncate
  /**
   * `clean`: for reading, cleaned and within the bounds. `raw`: as the command wrote it, within the bounds.
   * `whole`: all of it, as the command wrote it; what is too much for that stops the run.
   */
  readonly text: 'clean' | 'raw' | 'whole'
  readonly sandbox: Exclude<SandboxMode, 'auto'>
  /** Where there is no sandbox, the run may do without (`auto`). */
  readonly sandboxMayFallBack: boolean
  readonly network: 'on' | 'off'
  /** What a sandbox opens. Null: nothing is confined here; another machine finds its own. */
  readonly workspace: string | null
  /** Null: the default of the origin. */
  readonly shell: string | null
  readonly login: boolean
  readonly guard: boolean
  readonly hardening: boolean
  /** `exact`: what does not fit, and bytes that are not the text. */
  readonly artifact: ArtifactMode | 'exact'
  readonly stdin: Stdin
  /** Null: its output is captured. */
  readonly outputTo: OutputTo | null
  /** What was changed on the way in (a clamped timeout); goes into the result. */
  readonly notices: readonly string[]
}
