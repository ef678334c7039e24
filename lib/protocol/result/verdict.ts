import * as shape from '../shape/shape.ts'

export const decisions = ['allow', 'ask', 'redirect', 'deny'] as const
export type Decision = (typeof decisions)[number]

export const verdictShape = shape.object({
  decision: shape.choice(decisions),
  /** The rule's name; null when nothing matched. */
  rule: shape.nullable(shape.anyText()),
  /** One message: which rule, what matched, what to do instead. */
  reason: shape.nullable(shape.anyText()),
  /** The part of the command that the rule caught. */
  matched: shape.nullable(shape.anyText()),
  /** A tool that the caller has and that does this better. */
  suggestedTool: shape.nullable(shape.anyText()),
})

/** What the guard says before the start. */
export interface Verdict extends shape.Infer<typeof verdictShape> {}

export const allowed: Verdict = {
  decision: 'allow',
  rule: null,
  reason: null,
  matched: null,
  suggestedTool: null,
}
