import type { AutocompleteProvider } from '@mariozechner/pi-tui/dist/autocomplete.js'
import { Editor } from '@mariozechner/pi-tui/dist/components/editor.js'
import { CURSOR_MARKER, type TUI } from '@mariozechner/pi-tui/dist/tui.js'
import { fit, widthOf } from './columns.ts'
import { isKey } from './keyboard.ts'
import type { Style } from './style.ts'
import type { View } from './view.ts'

/** What a person asks for at the prompt. */
export type PromptEvent =
  | { type: 'line'; text: string }
  /** Ctrl-C, Ctrl-D or Esc while nothing is typed. */
  | { type: 'leave'; key: 'ctrl+c' | 'ctrl+d' | 'escape' }
  | { type: 'search' | 'palette' | 'view' | 'clear' }

export interface Prompt extends View {
  text(): string
  setText(text: string): void
}

export interface PromptOptions {
  style: Style
  isBash: () => boolean
  rows: () => number
  refresh: () => void
  /** Oldest first, for the arrow keys. */
  history: readonly string[]
  completion: AutocompleteProvider
  onEvent: (event: PromptEvent) => void
}

const plain = (text: string) => text

/** One line or many, edited by the component of pi-tui; what is around it is drawn here. */
export function createPrompt(options: PromptOptions): Prompt {
  const { style, isBash, onEvent } = options
  const selectList = {
    selectedPrefix: style.inverse,
    selectedText: style.inverse,
    description: style.dim,
    scrollInfo: style.dim,
    noMatch: style.dim,
  }
  // Of its host the editor uses these two only.
  const host = {
    terminal: {
      get rows() {
        return options.rows()
      },
    },
    requestRender: options.refresh,
  } as unknown as TUI
  const editor = new Editor(host, { borderColor: plain, selectList }, { autocompleteMaxVisible: 8 })
  editor.focused = true
  editor.setAutocompleteProvider(options.completion)
  for (const text of options.history) editor.addToHistory(text)
  let typed = ''
  editor.onSubmit = () => {
    editor.addToHistory(typed)
    onEvent({ type: 'line', text: typed })
  }

  function keyWhenEmpty(data: string): boolean {
    const keys = ['ctrl+c', 'ctrl+d', 'escape'] as const
    const key = keys.find((known) => isKey(data, known))
    if (key) onEvent({ type: 'leave', key })
    return key !== undefined
  }

  function keyForAll(data: string): boolean {
    if (isKey(data, 'ctrl+r')) onEvent({ type: 'search' })
    else if (isKey(data, 'ctrl+p')) onEvent({ type: 'palette' })
    else if (isKey(data, 'ctrl+o')) onEvent({ type: 'view' })
    else if (isKey(data, 'ctrl+l')) onEvent({ type: 'clear' })
    else return false
    return true
  }

  return {
    text: () => editor.getExpandedText(),
    setText: (text) => editor.setText(text),
    render(columns) {
      const mark = isBash() ? style.mint('bash> ') : style.salmon('> ')
      const indent = widthOf(mark)
      const drawn = editor.render(Math.max(2, columns - indent))
      // The editor frames its text with a rule above and one below; the list follows.
      const bottom = drawn.findIndex((line, index) => index > 0 && line.startsWith('──'))
      const text = drawn.slice(1, bottom)
      const list = drawn.slice(bottom + 1)
      let cursor = { row: Math.max(0, text.length - 1), column: indent }
      const lines = text.map((line, row) => {
        const at = line.search(/\u001B_pi:c|\u001B\[7m/)
        if (at >= 0) cursor = { row, column: indent + widthOf(line.slice(0, at)) }
        const bare = line.replace(CURSOR_MARKER, '').replaceAll(/\u001B\[(?:7|0)m/g, '')
        return fit((row === 0 ? mark : ' '.repeat(indent)) + bare.trimEnd(), columns)
      })
      return { lines: [...lines, ...list.map((line) => fit(line.trimEnd(), columns - 1))], cursor }
    },
    key(data) {
      if (keyForAll(data)) return
      const text = editor.getText()
      if (text === '' && keyWhenEmpty(data)) return
      if (isKey(data, 'ctrl+c') && !editor.isShowingAutocomplete()) return editor.setText('')
      typed = editor.getExpandedText()
      // As in a shell, and unlike in the editor by itself, the backslash stays.
      const { line, col } = editor.getCursor()
      const continues = editor.getLines()[line]?.[col - 1] === '\\'
      if (isKey(data, 'enter') && continues && !editor.isShowingAutocomplete()) {
        editor.insertTextAtCursor('\n')
      } else editor.handleInput(data)
    },
  }
}
