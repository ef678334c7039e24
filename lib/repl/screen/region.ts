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
  let showsCursor = false
  let drawnColumns = 0

  /** Rows from the first line down to the cursor, as the terminal has wrapped them since. */
  function rowsAboveCursor(columns: number): number {
    const row = drawn.cursor?.row ?? Math.max(0, drawn.lines.length - 1)
    if (columns >= drawnColumns) return row
    const above = drawn.lines.slice(0, row).map((line) => Math.ceil(widthOf(line) / columns) || 1)
    const inRow = Math.floor((drawn.cursor?.column ?? 0) / columns)
    return above.reduce((sum, rows) => sum + rows, inRow)
  }

  function isDrawn({ lines, cursor }: Frame): boolean {
    return (
      lines.length === drawn.lines.length &&
      lines.every((line, row) => line === drawn.lines[row]) &&
      (cursor === null
        ? !showsCursor
        : showsCursor && cursor.row === drawn.cursor?.row && cursor.column === drawn.cursor.column)
    )
  }

  function toTop(columns: number): string {
    return `${up(rowsAboveCursor(columns))}\r`
  }

  return {
    draw(frame, columns) {
      const changed = columns !== drawnColumns
      if (!changed && isDrawn(frame)) return ''
      let text = `\u001B[?25l${toTop(columns)}${changed ? '\u001B[J' : ''}`
      const count = Math.max(frame.lines.length, changed ? 0 : drawn.lines.length)
      for (let row = 0; row < count; row++) {
        const line = frame.lines[row]
        if (row > 0) text += '\r\n'
        if (changed || line !== drawn.lines[row]) text += `\u001B[2K${line ?? ''}\u001B[0m`
      }
      const last = Math.max(0, count - 1)
      const row = frame.cursor?.row ?? Math.max(0, frame.lines.length - 1)
      text += `${up(last - row)}\r${right(frame.cursor?.column ?? 0)}`
      if (frame.cursor) text += '\u001B[?25h'
      showsCursor = frame.cursor !== null
      drawn = { lines: [...frame.lines], cursor: { row, column: frame.cursor?.column ?? 0 } }
      drawnColumns = columns
      return whole(text)
    },
    erase(columns) {
      const text = `${toTop(columns)}\u001B[J`
      drawn = { lines: [], cursor: null }
      showsCursor = false
      drawnColumns = columns
      return text
    },
  }
}

function up(rows: number): string {
  return rows > 0 ? `\u001B[${rows}A` : ''
}

function right(columns: number): string {
  return columns > 0 ? `\u001B[${columns}C` : ''
}
