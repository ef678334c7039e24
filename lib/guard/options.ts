import type { Request } from '../protocol/request/request.ts'
import type { UserRule } from '../protocol/rules.ts'

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
export type Question = Pick<Request, 'command' | 'origin' | 'cwd' | 'env' | 'guard'>
