import type { Decision } from '../../protocol/verdict.ts'

/** One simple command as it would be started: quotes, variables and wrappers resolved. */
export interface SeenCommand {
  /** The program's name without its folder; empty where there are only redirections. */
  readonly name: string
  /** The program as written, then its arguments. */
  readonly words: readonly string[]
  readonly args: readonly string[]
  /** The files that its redirections write. */
  readonly writes: readonly string[]
  /** Whether its output or input is a pipe or file. */
  readonly standsAlone: boolean
  readonly places: Places
}

/** Where the command stands. All absolute. */
export interface Places {
  /** Where the command may be running; several after a branch. */
  readonly directories: readonly string[]
  /** The directory of the request. */
  readonly start: string
  readonly home: string
}

export interface Caught {
  /** Completes "this command …": `removes / recursively`. */
  readonly does: string
  /** False: it depends on something that cannot be known; the verdict is `ask`. */
  readonly certain: boolean
  readonly suggestedTool?: string
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
