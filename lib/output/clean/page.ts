import { Cells } from './cells.ts'
import { type HeldText, maxEditableBytes } from './held.ts'

const newline = 0x0a
const newlineByte = Uint8Array.of(newline)

/** A place on a screen, counted from the last line of its text. */
export interface Place {
  rowsUp: number
  column: number
}

/**
 * The last lines of the text while something edits them: a carriage return, a backspace, a cursor
 * movement. It opens on the unfinished line and takes further lines out of the held text as the cursor
 * goes up; they return once new text has paid for the way back, so that the whole stays linear.
 * Columns are not limited: text is not wrapped.
 */
export class Page {
  readonly #held: HeldText
  readonly #rows: number
  #lines: Cells[] = []
  /** Lines to be used again: redraws would fill the memory with them faster than it is collected. */
  readonly #spare: Cells[] = []
  #row = 0
  #column = 0
  /** Bytes read since lines were last taken out of the held text. */
  #credit = 0
  /** Number of the first line, counted from where the page was opened. */
  #top = 0
  #saved: { row: number; column: number } | null = null

  /** `rows` is the height of the screen: the cursor does not go higher. */
  constructor(held: HeldText, rows: number) {
    this.#held = held
    this.#rows = rows
  }

  get isOpen(): boolean {
    return this.#lines.length > 0
  }

  /** Opens on the unfinished line; false where that is past editing. */
  open(): boolean {
    if (this.isOpen) return true
    const bytes = this.#held.takeUnfinished()
    if (bytes === null) return false
    const line = this.#lineOf(bytes)
    this.#lines.push(line)
    this.#row = 0
    this.#column = line.next
    this.#top = 0
    this.#saved = null
    this.#credit = 0
    return true
  }

  get isAtLastLine(): boolean {
    return this.#row + 1 === this.#lines.length
  }

  /** Puts everything back into the held text. */
  close(): void {
    this.#encode(this.#lines)
    this.#drop(this.#lines)
    this.#lines = []
  }

  /**
   * Takes the last lines of the text out, as many as the screen has: what a terminal would show, and
   * where on it the cursor stands and is saved. Null where the unfinished line is past editing.
   */
  takeScreen(): { text: Buffer; cursor: Place; saved: Place | null } | null {
    if (!this.open()) return null
    const row = this.#row + this.#top
    this.up(this.#rows)
    const last = this.#top + this.#lines.length - 1
    const cursor = { rowsUp: last - row, column: this.#column }
    const saved = this.#saved && { rowsUp: last - this.#saved.row, column: this.#saved.column }
    const text = this.#textOf(this.#lines, Buffer.alloc(0))
    this.#drop(this.#lines)
    this.#lines = []
    return { text, cursor, saved }
  }

  /** The page and what is held above it, as text. */
  snapshot(): Buffer {
    return this.#textOf(this.#lines, this.#held.bytes)
  }

  /** Shown text, newlines included. Answers how far it was read: less than `to` once the page has closed. */
  write(bytes: Uint8Array, from: number, to: number): number {
    let at = from
    while (at < to) {
      if (bytes[at] === newline) {
        at++
        this.#credit++
        this.newline()
        if (!this.isOpen) return at
        continue
      }
      let stop = at
      while (stop < to && bytes[stop] !== newline) stop++
      this.#credit += stop - at
      const line = this.#lines[this.#row]!
      at = line.write(this.#column, bytes, at, stop, maxEditableBytes)
      this.#column = line.next
      if (at < stop) {
        // Past editing: the text goes on behind the last line.
        this.close()
        return at
      }
    }
    return at
  }

  newline(): void {
    this.#column = 0
    this.#row++
    this.#credit++
    if (this.#row < this.#lines.length) return
    this.#lines.push(this.#newLine())
    let cost = 0
    for (const line of this.#lines) cost += line.length
    // A place that was saved is returned to from any row of the screen.
    if (this.#credit >= cost && this.#saved === null) this.close()
    else if (this.#lines.length > this.#rows) {
      const first = this.#lines.shift()!
      this.#encode([first])
      this.#drop([first])
      this.#held.append(newlineByte, 0, 1)
      this.#row--
      this.#top++
      if (this.#saved !== null && this.#saved.row < this.#top) this.#saved = null
    }
  }

  carriageReturn(): void {
    this.#column = 0
    this.#credit++
  }

  /** Goes left; at the end of the line it takes the last character along. */
  backspace(): void {
    this.#credit++
    if (this.#column === 0) return
    const line = this.#line
    if (this.#column === line.length) line.eraseLast()
    this.#column--
  }

  up(count: number): void {
    if (count > this.#row) this.#limitReach()
    for (let missing = count - this.#row; missing > 0; missing--) {
      const bytes = this.#held.takeAbove()
      if (bytes === null) break
      this.#lines.unshift(this.#lineOf(bytes))
      this.#row++
      this.#top--
      this.#credit = 0
    }
    this.#row = Math.max(this.#row - count, 0)
  }

  down(count: number): void {
    this.#row = Math.min(this.#row + count, this.#lines.length - 1)
  }

  toColumn(column: number): void {
    this.#column = Math.min(Math.max(column, 0), maxEditableBytes - 1)
  }

  moveColumns(count: number): void {
    this.toColumn(this.#column + count)
  }

  eraseLine(which: 'right' | 'left' | 'all'): void {
    if (which === 'right') this.#line.erase(this.#column, Infinity)
    else if (which === 'left') this.#line.erase(0, this.#column + 1)
    else this.#line.erase(0, Infinity)
  }

  /** Everything from the cursor on. */
  eraseBelow(): void {
    this.eraseLine('right')
    if (this.#row + 1 === this.#lines.length) return
    this.#limitReach()
    this.#drop(this.#lines.splice(this.#row + 1))
  }

  eraseColumns(count: number): void {
    this.#line.erase(this.#column, this.#column + count)
  }

  removeColumns(count: number): void {
    this.#line.remove(this.#column, count)
  }

  insertColumns(count: number): void {
    const room = maxEditableBytes - this.#line.length
    if (room > 0) this.#line.insert(this.#column, Math.min(count, room))
  }

  /** Writes the character before the cursor again. */
  repeat(count: number): void {
    const line = this.#line
    const code = line.before(this.#column)
    for (let done = 0; done < count && this.#column < maxEditableBytes; done++) {
      this.#column = line.put(this.#column, code)
    }
  }

  /** The page stays open until that place has gone off the top of the screen. */
  save(): void {
    this.#saved = { row: this.#row + this.#top, column: this.#column }
  }

  restore(): void {
    if (this.#saved === null) return
    this.#row = Math.min(Math.max(this.#saved.row - this.#top, 0), this.#lines.length - 1)
    this.#column = this.#saved.column
  }

  /** The lines of the page are on the screen, with as many of those above them as have room there. */
  #limitReach(): void {
    this.#held.limitReach(this.#rows - this.#lines.length)
  }

  get #line(): Cells {
    return this.#lines[this.#row]!
  }

  #newLine(): Cells {
    return this.#spare.pop() ?? new Cells()
  }

  #lineOf(bytes: Uint8Array): Cells {
    const line = this.#newLine()
    line.write(0, bytes, 0, bytes.length, Infinity)
    return line
  }

  #drop(lines: Cells[]): void {
    for (const line of lines) {
      line.reset()
      if (this.#spare.length <= this.#rows) this.#spare.push(line)
    }
  }

  #textOf(lines: Cells[], above: Uint8Array): Buffer {
    let bytes = above.length
    for (const line of lines) bytes += line.maxEncodedBytes + 1
    const target = Buffer.allocUnsafe(bytes)
    target.set(above)
    let at = above.length
    for (const [index, line] of lines.entries()) {
      if (index > 0) target[at++] = newline
      at = line.encode(target, at)
    }
    return target.subarray(0, at)
  }

  /** Lines into the text, a newline between them. */
  #encode(lines: Cells[]): void {
    for (const [index, line] of lines.entries()) {
      this.#held.appendBy(line.maxEncodedBytes + 1, (target, at) => {
        let next = at
        if (index > 0) target[next++] = newline
        return line.encode(target, next)
      })
    }
  }
}
