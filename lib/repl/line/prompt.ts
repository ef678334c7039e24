import type { AutocompleteProvider } from '@mariozechner/pi-tui/dist/autocomplete.js'
import { Editor } from '@mariozechner/pi-tui/dist/components/editor.js'
import { CURSOR_MARKER, type TUI } from '@mariozechner/pi-tui/dist/tui.js'
import { fit, widthOf, type Style } from '../screen/text.ts'
import { isKey } from '../screen/terminal.ts'
import type { View } from '../screen/display.ts'

/** What a person asks for at the prompt. */
export type PromptEvent =
  | { type: 'line'; text: string }
  /** Ctrl-C, Ctrl-D or Esc while nothing is typed. */
  | { type: 'leave'; key: 'ctrl+c' | 'ctrl+d' | 'escape' }
  | { type: 'search' | 'palette' | 'view' | 'clear' | 'edit' }

export interface Prompt extends View {
  text(): string
  setText(text: string): void
}

export interface PromptOptions {
  style: Style
  isBash: () => boolean
  rows: () => number
  refresh: () => void
  /** What was typed before, as it is typed in the present mode; newest first. */
  history: () => readonly string[]
  completion: AutocompleteProvider
  highlight: (line: string, row: number) => string
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
  let typed = ''
  editor.onSubmit = () => {
    walk = null
    onEvent({ type: 'line', text: typed })
  }
  /** A walk through the history: what stood on the line, and where it is. */
  let walk: { start: string; at: number } | null = null
  let afterCtrlX = false

  function keyWhenEmpty(data: string): boolean {
    const keys = ['ctrl+c', 'ctrl+d', 'escape'] as const
    const key = keys.find((known) => isKey(data, known))
    if (key) onEvent({ type: 'leave', key })
    return key !== undefined
  }

  function keyForAll(data: string): boolean {
    const wasCtrlX = afterCtrlX
    afterCtrlX = isKey(data, 'ctrl+x')
    if (afterCtrlX) return true
    if (wasCtrlX && isKey(data, 'ctrl+e')) onEvent({ type: 'edit' })
    else if (isKey(data, 'ctrl+r')) onEvent({ type: 'search' })
    else if (isKey(data, 'ctrl+p')) onEvent({ type: 'palette' })
    else if (isKey(data, 'ctrl+o')) onEvent({ type: 'view' })
    else if (isKey(data, 'ctrl+l')) onEvent({ type: 'clear' })
    else return false
    return true
  }

  /** Back (1) or forth (-1) among those that begin with what stood on the line. */
  function step(by: 1 | -1): void {
    walk ??= { start: editor.getExpandedText(), at: -1 }
    const { start } = walk
    const found = options.history().filter((text) => text.startsWith(start) && text !== start)
    const at = Math.max(-1, Math.min(found.length - 1, walk.at + by))
    walk = { start, at }
    editor.setText(at < 0 ? start : (found[at] ?? start))
  }

  function keyOfHistory(data: string): boolean {
    if (editor.isShowingAutocomplete()) return false
    const { line } = editor.getCursor()
    const up = isKey(data, 'up')
    if (up && line === 0) step(1)
    else if (isKey(data, 'down') && walk && line === editor.getLines().length - 1) step(-1)
    else {
      if (!up && !isKey(data, 'down', 'left', 'right')) walk = null
      return false
    }
    return true
  }

  function isAtEnd(): boolean {
    const { line, col } = editor.getCursor()
    const lines = editor.getLines()
    return line === lines.length - 1 && col === (lines[line]?.length ?? 0)
  }

  /** What would follow, from the history. */
  function suggest(): string {
    const text = editor.getText()
    if (text.trim() === '' || text.includes('\n') || !isAtEnd() || editor.isShowingAutocomplete())
      return ''
    const found = options.history().find((known) => known.startsWith(text) && known !== text)
    return found === undefined || found.includes('\n') ? '' : found.slice(text.length)
  }

  function setText(text: string): void {
    walk = null
    editor.setText(text)
  }

  function isBehindBackslash(): boolean {
    const { line, col } = editor.getCursor()
    return editor.getLines()[line]?.[col - 1] === '\\'
  }

  return {
    text: () => editor.getExpandedText(),
    setText,
    render(columns) {
      const paintMark = isBash() ? style.mint : style.salmon
      const mark = `${paintMark(isBash() ? 'bash>' : '>')} `
      const indent = widthOf(mark)
      const drawn = editor.render(Math.max(2, columns - indent))
      // The editor frames its text with a rule above and one below; the list follows.
      const bottom = drawn.findLastIndex((line) => line.startsWith('──'))
      const text = drawn.slice(1, bottom)
      const list = drawn.slice(bottom + 1)
      // The rules say what is above and below the window of the editor.
      const isCutAbove = drawn[0]?.includes('↑') ?? false
      const isCutBelow = drawn[bottom]?.includes('↓') ?? false
      const ghost = suggest()
      let cursor = { row: Math.max(0, text.length - 1), column: indent }
      const lines = text.map((line, row) => {
        const at = line.search(/\u001B_pi:c|\u001B\[7m/)
        if (at >= 0) cursor = { row, column: indent + widthOf(line.slice(0, at)) }
        const bare = line
          .replace(CURSOR_MARKER, '')
          .replaceAll(/\u001B\[(?:7|0)m/g, '')
          .trimEnd()
        const more =
          row === text.length - 1 && ghost !== ''
            ? ' '.repeat(Math.max(0, cursor.column - indent - widthOf(bare))) + style.dim(ghost)
            : ''
        const isLast = row === text.length - 1
        const arrow = row === 0 && isCutAbove ? '↑' : isLast && isCutBelow ? '↓' : ''
        const margin = style.dim(arrow) + ' '.repeat(indent - arrow.length)
        const head = row === 0 && !isCutAbove ? mark : margin
        return fit(head + options.highlight(bare, isCutAbove ? row + 1 : row) + more, columns)
      })
      return { lines: [...lines, ...list.map((line) => fit(line.trimEnd(), columns - 1))], cursor }
    },
    key(data) {
      if (keyForAll(data)) return
      const text = editor.getText()
      if (text === '' && keyWhenEmpty(data)) return
      if (isKey(data, 'ctrl+c')) return setText('')
      typed = editor.getExpandedText()
      if (keyOfHistory(data)) return
      if (isKey(data, 'right', 'end', 'ctrl+e')) {
        const ghost = suggest()
        if (ghost !== '') return editor.insertTextAtCursor(ghost)
      }
      const endsLine = isKey(data, 'enter') && !editor.isShowingAutocomplete()
      // As in a shell, and unlike in the editor by itself, a last backslash stays.
      if (endsLine && isBehindBackslash()) return editor.insertTextAtCursor('\n')
      editor.handleInput(data)
    },
  }
}
