import { isDeepStrictEqual } from 'node:util'
import { widthOf } from './text.ts'

/** What a view shows: never wider than the terminal. */
export interface Frame {
  lines: string[]
  /** Within the lines; null hides it. */
  cursor: { row: number; column: number } | null
}

/** The bottom of the screen, drawn over and over below what has been printed for good. */
export interface Region {
  /** What to write so that the screen shows this frame. */
  draw(frame: Frame, columns: number): string
  /** What to write so that nothing of it is left; the cursor is where its first line was. */
  erase(columns: number): string
}

/**
 * Shown at once. What is wider than the terminal is cut there (DECAWM off) and not wrapped: a window that
 * has just become narrower is told of a moment later.
 */
const whole = (text: string) => `\u001B[?2026h\u001B[?7l${text}\u001B[?7h\u001B[?2026l`

/** Draws only the lines that have changed. Nothing scrolled away is ever touched. */
export function createRegion(): Region {
  let drawn: Frame = { lines: [], cursor: null }
  let drawnColumns = 0

  /** To the first line from the cursor, over as many rows as the terminal has made of the lines since. */
  function toTop(columns: number): string {
    const { row, column } = placeOf(drawn)
    const rowsOf = (line: string) =>
      columns < drawnColumns ? Math.ceil(widthOf(line) / columns) || 1 : 1
    const above = drawn.lines.slice(0, row).reduce((sum, line) => sum + rowsOf(line), 0)
    return `${up(above + (columns < drawnColumns ? Math.floor(column / columns) : 0))}\r`
  }

  return {
    draw(frame, columns) {
      const changed = columns !== drawnColumns
      if (!changed && isDeepStrictEqual(frame, drawn)) return ''
      let text = `\u001B[?25l${toTop(columns)}${changed ? '\u001B[J' : ''}`
      const count = Math.max(frame.lines.length, changed ? 0 : drawn.lines.length)
      for (let row = 0; row < count; row++) {
        const line = frame.lines[row]
        if (row > 0) text += '\r\n'
        if (changed || line !== drawn.lines[row]) text += `\u001B[2K${line ?? ''}\u001B[0m`
      }
      const { row, column } = placeOf(frame)
      text += `${up(Math.max(0, count - 1) - row)}\r${column > 0 ? `\u001B[${column}C` : ''}`
      if (frame.cursor) text += '\u001B[?25h'
      drawn = structuredClone(frame)
      drawnColumns = columns
      return whole(text)
    },
    erase(columns) {
      const text = `${toTop(columns)}\u001B[J`
      drawn = { lines: [], cursor: null }
      drawnColumns = columns
      return text
    },
  }
}

/** Where the cursor is left: a hidden one at the start of the last line. */
function placeOf({ lines, cursor }: Frame): { row: number; column: number } {
  return cursor ?? { row: Math.max(0, lines.length - 1), column: 0 }
}

function up(rows: number): string {
  return rows > 0 ? `\u001B[${rows}A` : ''
}
