import { expandTabs, fit, oneLine } from '../screen/text.ts'
import { isKey, typeAtEnd } from '../screen/terminal.ts'
import type { Display } from '../screen/display.ts'
import type { Style } from '../screen/text.ts'
import type { View } from '../screen/display.ts'

export interface Choice {
  /** What is picked. */
  value: string
  /** What is shown and searched; one line. */
  label: string
  hint?: string
}

export interface PickerOptions {
  title: string
  /** The choices, the best one first. */
  choices: readonly Choice[]
  style: Style
  /** Null: nothing was picked. */
  onDone: (value: string | null) => void
  /** Pressing it again goes on to the next match (Ctrl-R). */
  nextKey?: 'ctrl+r' | 'ctrl+p'
}

/** A list that is searched while typing: every word must be in the label or the hint, in any case. */
function createPicker(options: PickerOptions): View {
  const { style, title, choices, nextKey, onDone } = options
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

  return {
    render(columns, rows) {
      const found = matches()
      const height = Math.max(1, Math.min(10, rows - 2))
      const first = Math.max(0, Math.min(selected - height + 1, found.length - height))
      const shown = found.slice(first, first + height).map(({ label, hint }, index) => {
        const isSelected = first + index === selected
        const text = fit(expandTabs(oneLine(label)), columns - 4)
        const line = isSelected ? style.inverse(`› ${text}`) : `  ${text}`
        return hint === undefined ? line : fit(`${line}  ${style.dim(hint)}`, columns - 1)
      })
      const head = `${style.salmon(`${title} `)}${query}`
      const none = found.length === 0 ? [style.dim('  nothing found')] : []
      const fitted = fit(head, columns - 1)
      const column = Math.min(columns - 1, title.length + 1 + [...query].length)
      return { lines: [fitted, ...shown, ...none], cursor: { row: 0, column } }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c', 'ctrl+g')) return onDone(null)
      if (isKey(data, 'enter', 'tab')) return onDone(matches()[selected]?.value ?? null)
      if (isKey(data, 'up') || isKey(data, 'ctrl+s')) return move(-1)
      if (isKey(data, 'down') || (nextKey !== undefined && isKey(data, nextKey))) return move(1)
      query = typeAtEnd(query, data)
      selected = 0
    },
  }
}

/** Lets a person pick one. Null: none was picked. */
export function pick(
  display: Display,
  options: Omit<PickerOptions, 'onDone'>,
): Promise<string | null> {
  return new Promise((resolve) => {
    const close = display.open(
      createPicker({
        ...options,
        onDone(value) {
          close()
          resolve(value)
        },
      }),
    )
    display.replayKeys()
  })
}
