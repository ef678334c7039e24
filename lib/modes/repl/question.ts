import { wrap } from './columns.ts'
import { isKey } from './keyboard.ts'
import type { Style } from './style.ts'
import type { View } from './view.ts'

export interface Answer<Value> {
  key: string
  label: string
  value: Value
}

export interface QuestionOptions<Value> {
  /** Line by line. */
  text: readonly string[]
  answers: readonly Answer<Value>[]
  /** On Esc and Ctrl-C. */
  otherwise: Value
  style: Style
  onDone: (value: Value) => void
}

/** Asks for one key. */
export function createQuestion<Value>(options: QuestionOptions<Value>): View {
  const { text, answers, style } = options
  const choices = answers.map(({ key, label }) => `[${style.bold(key)}] ${label}`).join('  ')
  return {
    render(columns) {
      const lines = [...text, choices].flatMap((line) => wrap(line, columns - 1))
      return { lines, cursor: null }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c')) return options.onDone(options.otherwise)
      const answer = answers.find(({ key }) => key === data.toLowerCase())
      if (answer) options.onDone(answer.value)
    },
  }
}
