import type { Request } from '../../protocol/request/request.ts'
import type { Decision, UserRule } from '../../protocol/rules.ts'
import type { Text } from '../shell/text.ts'

/** What a tool of the caller may do better than a command. */
export type ToolKind = 'read' | 'search' | 'find' | 'edit' | 'write'

/** Which tool to suggest for which kind of command. */
export type SuggestTool = Partial<Record<ToolKind, string>>

export interface GuardOptions {
  /** The home folder of the user whose commands run. Absolute. */
  readonly home: string
  /** Rules of the user; they hold for everyone, whatever `guard` of the request says. */
  readonly rules?: readonly UserRule[]
  /** What becomes of a command that no `allow` rule of the user matches. Default: `allow`. */
  readonly defaultDecision?: 'allow' | 'ask' | 'deny'
  /** Off by default. `true` takes the usual names of such tools. */
  readonly suggestTool?: SuggestTool | boolean
  /** The tools that the caller has beside the shell; a function where they are told later. */
  readonly toolNames?: readonly string[] | (() => readonly string[])
}

/** What the guard needs to know of a request. */
export type Question = Pick<Request, 'command' | 'origin' | 'cwd' | 'env' | 'guard'> & {
  /** A sandbox is certain to keep the run from the system. Default: false. */
  readonly isConfined?: boolean
  /** Null or absent: the directory of the request. */
  readonly workspace?: string | null
}

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

/** The name under which a script is seen that the command has fetched from the network. */
export const fetchedScript = 'curl | sh'

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
  readonly holdsFor: 'everyone' | 'agents' | 'unconfined agents'
  check(command: SeenCommand): Caught | null
}
