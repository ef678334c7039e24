import type { Decision } from './verdict.ts'

/** A rule of the user, as it stands in the configuration under `guard.rules`. */
export interface UserRule {
  /** For messages; without it the position in the list. */
  name?: string
  /**
   * `/…/` or `/…/i`: a regular expression over each simple command, its words joined by one space.
   * Anything else: the words that a command begins with, such as `npm publish`.
   */
  match: string
  /** Patterns of the same kind: what one of them matches, the rule lets pass. */
  notMatch?: string | string[]
  decision: Decision
  /** What the one who is stopped reads. */
  reason?: string
  suggestedTool?: string
  /** Look at the text as it was given, once, in place of each simple command. Needs `/…/`. */
  raw?: boolean
  /** Commands that the rule must and must not catch; checked when the rule is loaded. */
  examples?: { match?: string[]; notMatch?: string[] }
}
