import { nowMs } from '../../system/clock.ts'
import { wrap } from '../screen/text.ts'
import type { Display } from '../screen/display.ts'
import { isKey, typeAtEnd } from '../screen/terminal.ts'
import type { Style } from '../screen/text.ts'
import type { View } from '../screen/display.ts'

export interface Answer<Value> {
  /** What is typed for it: the word or its first letter. */
  word: string
  label: string
  value: Value
}

interface Question<Value> {
  /** Line by line. */
  text: readonly string[]
  answers: readonly Answer<Value>[]
  /** The answer that Esc and Ctrl-C stand for. */
  otherwise: Answer<Value>
  style: Style
}

/** Who types on without such a pause has not read the question yet. */
const pauseMs = 400

/**
 * Asks for a word and Enter; the question and its answer stay on the screen. What was on its way when the
 * question appeared is no answer: it is kept for the prompt.
 */
export async function askQuestion<Value>(
  display: Display,
  question: Question<Value>,
): Promise<Value> {
  const { value, word } = await new Promise<Answer<Value>>((resolve) => {
    const close = display.open(
      createQuestion(display, question, (answer) => {
        close()
        resolve(answer)
      }),
    )
  })
  display.print([...question.text, question.style.dim(`? ${word}`)])
  return value
}

function createQuestion<Value>(
  display: Display,
  { text, answers, style, otherwise }: Question<Value>,
  onDone: (answer: Answer<Value>) => void,
): View {
  let typed = ''
  let hint = ''
  let lastKeyMs = Math.max(display.lastKeyMs, nowMs())
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
      if (isKey(data, 'escape', 'ctrl+c')) return onDone(otherwise)
      const now = nowMs()
      isRead ||= now - lastKeyMs >= pauseMs
      lastKeyMs = now
      if (!isRead) return display.keepKey(data)
      if (!isKey(data, 'enter')) return void (typed = typeAtEnd(typed, data))
      const wanted = typed.trim().toLowerCase()
      typed = ''
      const answer = answers.find(
        ({ word }) => wanted !== '' && (word === wanted || word[0] === wanted),
      )
      if (answer) return onDone(answer)
      hint = `Type one of these, then Enter${wanted === '' ? '' : `; "${wanted}" is none of them`}:`
    },
  }
}
