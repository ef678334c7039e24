import type { Approve } from '../../executor/executor.ts'
import { messageOf } from '../../protocol/errors.ts'
import type { Approvals } from './approvals.ts'
import type { Display } from '../screen/display.ts'
import { type Answer, askQuestion } from '../line/question.ts'
import type { Style } from '../screen/text.ts'

export interface ApprovalParts {
  display: Display
  approvals: Approvals
  style: Style
  home: string | undefined
}

type Allowed = 'once' | 'session' | 'always' | 'no'

const once: Answer<Allowed> = { word: 'yes', label: '(this once)', value: 'once' }
const session: Answer<Allowed> = { word: 'session', label: '(until nacre ends)', value: 'session' }
const always: Answer<Allowed> = { word: 'always', label: '', value: 'always' }
const no: Answer<Allowed> = { word: 'no', label: '', value: 'no' }

/** Answers the guard: from what is remembered, else by asking. */
export function createApprove(parts: ApprovalParts): Approve {
  const { display, approvals, style } = parts
  return async ({ command, cwd }, { rule, reason, matched }) => {
    const approval = { command: command.trimStart(), cwd, rule: rule ?? '' }
    if (recall()) return true
    const lasting = mayLast(`${matched ?? ''} ${command}`, rule, parts.home)
    const answers = [once, session, ...(lasting ? [always] : []), no]
    const text = [style.yellow(reason ?? `${rule} asks`), `Run ${style.bold(command)} ?`]
    const value = await askQuestion(display, { text, answers, otherwise: no, style })
    if (value === 'session' || value === 'always') remember(value === 'always')
    return value !== 'no'

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
}

/** A yes for ever is not for what takes the whole system, a home or a disk along. */
function mayLast(command: string, rule: string | null, home: string | undefined): boolean {
  if (rule === 'disk-destroy') return false
  const words = command.split(/[\s;&|()]+/).map((word) => word.replaceAll(/["'\\]/g, ''))
  return !words.some(
    (word) =>
      /^(?:\/+\*?|~\w*\/?\*?|\$\{?HOME\}?\/?\*?|\/dev\/.+|\/(?:home|Users|root)(?:\/[^/]*)?\/?\*?|--no-preserve-root)$/.test(
        word,
      ) ||
      (home !== undefined && word.replace(/\/\*?$/, '') === home),
  )
}
