import type { RunOptions } from '../../executor/executor.ts'
import { messageOf } from '../../protocol/errors.ts'
import type { Approvals } from './approvals.ts'
import type { Display } from './display.ts'
import { createQuestion } from './question.ts'
import type { Style } from './style.ts'

export interface ApprovalParts {
  display: Display
  approvals: Approvals
  style: Style
}

const answers = [
  { key: 'y', label: 'once', value: 'once' },
  { key: 's', label: 'this session', value: 'session' },
  { key: 'a', label: 'always', value: 'always' },
  { key: 'n', label: 'no', value: 'no' },
] as const
type Answer = (typeof answers)[number]['value']

/** Answers the guard: from what is remembered, else by asking. */
export function createApprove(parts: ApprovalParts): NonNullable<RunOptions['approve']> {
  const { display, approvals, style } = parts
  return async ({ command, cwd }, { rule, reason }) => {
    const approval = { command, cwd, rule: rule ?? '' }
    if (recall()) return true
    const answer = await ask([
      style.yellow(reason ?? `${rule} asks`),
      `Run ${style.bold(command)} ?`,
    ])
    if (answer === 'session' || answer === 'always') remember(answer === 'always')
    return answer !== 'no'

    function recall(): boolean {
      try {
        return approvals.has(approval)
      } catch (error) {
        display.print([style.yellow(`Remembered approvals cannot be read: ${messageOf(error)}`)])
        return false
      }
    }

    function remember(lasting: boolean): void {
      try {
        approvals.add(approval, lasting)
      } catch (error) {
        display.print([style.yellow(`This answer is not remembered: ${messageOf(error)}`)])
      }
    }
  }

  function ask(text: string[]): Promise<Answer> {
    return new Promise((resolve) => {
      const close = display.open(
        createQuestion<Answer>({
          text,
          answers,
          otherwise: 'no',
          style,
          onDone(value) {
            close()
            resolve(value)
          },
        }),
      )
    })
  }
}
