import * as shape from './shape/shape.ts'

/** From the laxest to the strictest. */
export const decisions = ['allow', 'redirect', 'ask', 'deny'] as const
export type Decision = (typeof decisions)[number]

export const strictnessOf = (decision: Decision): number => decisions.indexOf(decision)

const commands = shape.list(shape.text())

export const verdictShape = shape.object(
  {
    decision: shape.choice(decisions),
    /** The rule's name; null when nothing matched. */
    rule: shape.nullable(shape.anyText()),
    /** One message: which rule, what matched, what to do instead. */
    reason: shape.nullable(shape.anyText()),
    /** The part of the command that the rule caught. */
    matched: shape.nullable(shape.anyText()),
    /** A tool that the caller has and that does this better. */
    suggestedTool: shape.nullable(shape.anyText()),
  },
  {
    prefixes: shape.list(
      shape.anyText(),
      'For ask: the beginnings of commands that rules would have to allow so that it is not asked again',
    ),
  },
)

/** What the guard says before the start. */
export interface Verdict extends shape.Infer<typeof verdictShape> {}

export const allowed: Verdict = {
  decision: 'allow',
  rule: null,
  reason: null,
  matched: null,
  suggestedTool: null,
}

export const userRuleShape = shape.object(
  {
    /**
     * `/…/` or `/…/i`: a regular expression over each simple command, its words joined by one space.
     * Anything else: the words that a command begins with, such as `npm publish`.
     */
    match: shape.text('The words that a command begins with, or /a regular expression/'),
    /**
     * `allow` lifts what other rules ask about or redirect, and the denials of the rules that `lifts`
     * names. The other three add to what the built-in rules say.
     */
    decision: shape.choice(decisions, 'What the guard says then'),
  },
  {
    /** For messages; without it the place in the configuration. */
    name: shape.text('For messages (default: where it stands)'),
    /** Patterns of the same kind: what one of them matches, the rule lets pass. */
    notMatch: shape.either(
      [shape.text(), commands],
      'a pattern or a list of patterns',
      'What one of these matches, the rule lets pass',
    ),
    /** What the one who is stopped reads. */
    reason: shape.text('What the one who is stopped reads'),
    suggestedTool: shape.text('For redirect: the tool to use instead, where the caller has it'),
    /** Built-in rules whose denial it lifts, such as `git-push-force`. */
    lifts: shape.either(
      [shape.text(), shape.list(shape.text())],
      'a rule or a list of rules',
      'For allow: built-in rules whose denial it lifts',
    ),
    /** Look at the text as it was given, once, in place of each simple command. Needs `/…/`. */
    raw: shape.boolean('Match the text as it was given, once; needs /…/'),
    /**
     * Commands by what becomes of them: those under the rule's own decision it must match, those under
     * another one it must not. `match` and `notMatch` say the same. Checked when the rule is read.
     */
    examples: shape.object(
      {},
      {
        allow: commands,
        ask: commands,
        redirect: commands,
        deny: commands,
        match: commands,
        notMatch: commands,
      },
      { description: 'Commands that the rule must and must not match, by decision' },
    ),
  },
)

/** A rule of the user, as it stands in the configuration under `guard.rules`. */
export interface UserRule extends shape.Infer<typeof userRuleShape> {
  /** It comes from the file of a workspace that nobody trusted: it can tighten, and lift nothing. */
  untrusted?: boolean
}
