import type { Approvals } from '../doors/approvals.ts'
import type { Approve } from '../executor/executor.ts'
import { askQuestion } from './line/list.ts'
import type { Display } from './screen/display.ts'
import { oneLine, type Style } from './screen/text.ts'

export interface ApproveParts {
  display: Display
  approvals: Approvals
  style: Style
}

/** Answers the guard: from what is remembered, else by asking. */
export function createApprove({ display, approvals, style }: ApproveParts): Approve {
  return async ({ command }, verdict) => {
    if (approvals.covers(verdict)) return true
    const lasting = verdict.prefixes ?? []
    const shown = lasting.map((prefix) => `\`${oneLine(prefix)} …\``).join(', ')
    const answer = await askQuestion(display, {
      text: [
        style.yellow(verdict.reason ?? `${verdict.rule} asks`),
        `Run ${style.bold(command)} ?`,
      ],
      answers: {
        yes: '(this once)',
        ...(lasting.length > 0 ? { always: `(allows ${shown} from now on)` } : {}),
        no: '',
      },
      style,
    })
    if (answer === 'always') approvals.add(lasting)
    return answer !== 'no'
  }
}
