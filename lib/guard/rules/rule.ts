import type { Decision } from '../../protocol/rules.ts'
import type { Text } from '../shell/text.ts'

/** One simple command as it would be started: quotes, variables and wrappers resolved. */
export interface SeenCommand {
  /** The program's name without its folder; empty where there are only redirections. */
  readonly name: string
  /** The program as written, then its arguments. */
  readonly words: readonly Text[]
  readonly args: readonly Text[]
  /** The files that its redirections write. */
  readonly writes: readonly Text[]
  /** Not in a pipeline, substitution, loop or function. */
  readonly standsAlone: boolean
  /** Whether it has redirections or reads a pipe. */
  readonly redirected: boolean
  readonly places: Places
  /** The text of a file as far as the command itself wrote it, of `-` what it reads; else null. */
  readonly read: (path: Text) => Text | null
}

/** Where the command stands. All absolute. */
export interface Places {
  /** Where the command may be running; several after a branch. */
  readonly directories: readonly Text[]
  /** The directory of the request. */
  readonly start: string
  readonly home: string
}

/** The name under which a function that multiplies itself is seen. */
export const forkBomb = ':(){ :|:& };:'

export interface Caught {
  /** Completes "this command …": `removes / recursively`. */
  readonly does: string
  /** False: it depends on something that cannot be known; the verdict is `ask`. */
  readonly certain: boolean
  readonly suggestedTool?: string
  /** What to do instead, where it is not what the rule says in general. */
  readonly instead?: string
}

export interface Rule {
  readonly name: string
  readonly decision: Exclude<Decision, 'allow'>
  /** What to do instead, a sentence. */
  readonly instead: string
  /** Whose commands it looks at. */
  readonly holdsFor: 'everyone' | 'agents'
  /** Commands that it must catch, and their harmless look-alikes. */
  readonly examples: { readonly match: readonly string[]; readonly pass: readonly string[] }
  check(command: SeenCommand): Caught | null
}
