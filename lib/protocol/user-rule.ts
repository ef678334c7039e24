import * as shape from './shape/shape.ts'
import { decisions } from './verdict.ts'

const patterns = shape.either(
  [shape.text(), shape.list(shape.text())],
  'a pattern or a list of patterns',
)

export const userRuleShape = shape.object(
  {
    /**
     * `/…/` or `/…/i`: a regular expression over each simple command, its words joined by one space.
     * Anything else: the words that a command begins with, such as `npm publish`.
     */
    match: shape.text('The words that a command begins with, or /a regular expression/'),
    decision: shape.choice(decisions, 'What the guard says then'),
  },
  {
    /** For messages; without it the place in the configuration. */
    name: shape.text('For messages (default: where it stands)'),
    /** Patterns of the same kind: what one of them matches, the rule lets pass. */
    notMatch: shape.describe(patterns, 'What one of these matches, the rule lets pass'),
    /** What the one who is stopped reads. */
    reason: shape.text('What the one who is stopped reads'),
    suggestedTool: shape.text('For redirect: the tool to use instead'),
    /** Look at the text as it was given, once, in place of each simple command. Needs `/…/`. */
    raw: shape.boolean('Match the text as it was given, once; needs /…/'),
    /** Commands that the rule must and must not catch; checked when the rule is loaded. */
    examples: shape.object(
      {},
      { match: shape.list(shape.text()), notMatch: shape.list(shape.text()) },
      { description: 'Commands that the rule must and must not catch' },
    ),
  },
)

/** A rule of the user, as it stands in the configuration under `guard.rules`. */
export interface UserRule extends shape.Infer<typeof userRuleShape> {}
