import { nowMs } from '../../../system/clock.ts'
import { wrap } from '../screen/columns.ts'
import { isKey, typedText } from '../screen/keyboard.ts'
import type { Style } from '../screen/style.ts'
import type { View } from '../screen/view.ts'

export interface Answer<Value> {
  /** What is typed for it: the word or its first letter. */
  word: string
  label: string
  value: Value
}

export interface QuestionOptions<Value> {
  /** Line by line. */
  text: readonly string[]
  answers: readonly Answer<Value>[]
  /** On Esc and Ctrl-C. */
  otherwise: Answer<Value>
  style: Style
  /** nowMs() of the last key before the question. */
  lastKeyMs: number
  /** What was typed for something else. */
  onOther: (data: string) => void
  onDone: (answer: Answer<Value>) => void
}

/** Who types on without such a pause has not read the question yet. */
const pauseMs = 400

/**
 * Asks for a word and Enter. What was on its way when the question appeared is no answer: it is kept for
 * the prompt.
 */
export function createQuestion<Value>(options: QuestionOptions<Value>): View {
  const { text, answers, style, otherwise } = options
  let typed = ''
  let hint = ''
  let lastKeyMs = Math.max(options.lastKeyMs, nowMs())
  let isRead = false
  const choices = answers
    .map(({ word, label }) => `${style.bold(word)}${label === '' ? '' : ` ${label}`}`)
    .join(' · ')

  return {
    render(columns) {
      const lines = [...text, ...(hint === '' ? [] : [style.yellow(hint)]), choices]
      const wrapped = lines.flatMap((line) => wrap(line, columns - 1))
      return {
        lines: [...wrapped, `? ${typed}`],
        cursor: { row: wrapped.length, column: 2 + [...typed].length },
      }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c')) return options.onDone(otherwise)
      const now = nowMs()
      isRead ||= now - lastKeyMs >= pauseMs
      lastKeyMs = now
      if (!isRead) return options.onOther(data)
      if (isKey(data, 'backspace')) typed = [...typed].slice(0, -1).join('')
      else if (isKey(data, 'enter')) {
        const wanted = typed.trim().toLowerCase()
        typed = ''
        const answer = answers.find(
          ({ word }) => wanted !== '' && (word === wanted || word[0] === wanted),
        )
        if (answer) return options.onDone(answer)
        hint = `Type one of these, then Enter${wanted === '' ? '' : `; "${wanted}" is none of them`}:`
      } else typed += typedText(data)?.replaceAll(/\s/g, '') ?? ''
    },
  }
}
