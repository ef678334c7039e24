import { nowMs } from '../../system/clock.ts'
import type { Display, View } from '../screen/display.ts'
import { isKey, typeAtEnd } from '../screen/terminal.ts'
import { expandTabs, fit, oneLine, type Style, wrap } from '../screen/text.ts'

export interface Choice {
  /** What is picked. */
  value: string
  /** What is shown and searched; one line. */
  label: string
  hint?: string
}

export interface PickOptions {
  title: string
  /** The choices, the best one first. */
  choices: readonly Choice[]
  style: Style
  /** Pressing it again goes on to the next match (Ctrl-R). */
  nextKey?: 'ctrl+r' | 'ctrl+p'
}

/** Opens a view until it has an answer. */
function ask<Value>(
  display: Display,
  createView: (answer: (value: Value) => void) => View,
): Promise<Value> {
  return new Promise((resolve) => {
    const close = display.open(
      createView((value) => {
        close()
        resolve(value)
      }),
    )
  })
}

/**
 * Lets a person pick from a list that is searched while typing: every word must be in the label or the
 * hint, in any case. Null: none was picked.
 */
export function pick(display: Display, options: PickOptions): Promise<string | null> {
  const { style, title, choices, nextKey } = options
  let query = ''
  let selected = 0

  function matches(): Choice[] {
    const words = query.toLowerCase().split(/\s+/)
    const holds = (text: string) => words.every((word) => text.toLowerCase().includes(word))
    const named = choices.filter(({ label }) => holds(label))
    const hinted = choices.filter(({ label, hint = '' }) => !holds(label) && holds(label + hint))
    return [...named, ...hinted]
  }

  function move(by: number): void {
    const count = matches().length
    if (count > 0) selected = (selected + by + count) % count
  }

  const picked = ask<string | null>(display, (answer) => ({
    asksForLine: true,
    render(columns, rows) {
      const found = matches()
      const height = Math.max(1, Math.min(10, rows - 2))
      const first = Math.max(0, Math.min(selected - height + 1, found.length - height))
      const shown = found.slice(first, first + height).map(({ label, hint }, index) => {
        const text = fit(expandTabs(oneLine(label)), columns - 4)
        const line = first + index === selected ? style.inverse(`› ${text}`) : `  ${text}`
        return hint === undefined ? line : fit(`${line}  ${style.dim(hint)}`, columns - 1)
      })
      const none = found.length === 0 ? [style.dim('  nothing found')] : []
      const head = fit(`${style.salmon(`${title} `)}${query}`, columns - 1)
      const column = Math.min(columns - 1, title.length + 1 + [...query].length)
      return { lines: [head, ...shown, ...none], cursor: { row: 0, column } }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c', 'ctrl+g')) return answer(null)
      if (isKey(data, 'enter', 'tab')) return answer(matches()[selected]?.value ?? null)
      if (isKey(data, 'up', 'ctrl+s')) return move(-1)
      if (isKey(data, 'down') || (nextKey !== undefined && isKey(data, nextKey))) return move(1)
      query = typeAtEnd(query, data)
      selected = 0
    },
  }))
  display.replayKeys()
  return picked
}

export interface Question {
  /** Line by line. */
  text: readonly string[]
  /** Words that are typed, or their first letters, each with what is said of it. Esc and Ctrl-C are `no`. */
  answers: Readonly<Record<string, string>>
  style: Style
}

/** Who types on without such a pause has not read the question yet. */
const pauseMs = 400

/**
 * Asks for a word and Enter; the question and its answer stay on the screen. What was on its way when the
 * question appeared is no answer: it is kept for the prompt.
 */
export async function askQuestion(
  display: Display,
  { text, answers, style }: Question,
): Promise<string> {
  let typed = ''
  let hint = ''
  let lastKeyMs = Math.max(display.lastKeyMs, nowMs())
  let isRead = false
  const choices = Object.entries(answers)
    .map(([word, said]) => `${style.bold(word)}${said === '' ? '' : ` ${said}`}`)
    .join(' · ')
  const word = await ask<string>(display, (answer) => ({
    asksForLine: true,
    render(columns) {
      const lines = [...text, ...(hint === '' ? [] : [style.yellow(hint)]), choices]
      const wrapped = lines.flatMap((line) => wrap(line, columns - 1))
      const cursor = { row: wrapped.length, column: 2 + [...typed].length }
      return { lines: [...wrapped, `? ${typed}`], cursor }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c')) return answer('no')
      const now = nowMs()
      isRead ||= now - lastKeyMs >= pauseMs
      lastKeyMs = now
      if (!isRead) return display.keepKey(data)
      if (!isKey(data, 'enter')) return void (typed = typeAtEnd(typed, data))
      const wanted = typed.trim().toLowerCase()
      typed = ''
      const found = Object.keys(answers).find((known) => known === wanted || known[0] === wanted)
      if (found !== undefined) return answer(found)
      hint = `Type one of these, then Enter${wanted === '' ? '' : `; "${wanted}" is none of them`}:`
    },
  }))
  if (!display.isPlain) display.print([...text, style.dim(`? ${word}`)])
  return word
}
