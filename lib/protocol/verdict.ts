export type Decision = 'allow' | 'ask' | 'redirect' | 'deny'

/** What the guard says before the start. */
export interface Verdict {
  decision: Decision
  /** The rule's name; null when nothing matched. */
  rule: string | null
  /** One message: which rule, what matched, what to do instead. */
  reason: string | null
  /** The part of the command that the rule caught. */
  matched: string | null
  /** A tool that the caller has and that does this better. */
  suggestedTool: string | null
}

export const allowed: Verdict = {
  decision: 'allow',
  rule: null,
  reason: null,
  matched: null,
  suggestedTool: null,
}
