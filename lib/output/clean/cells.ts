import { codePointAt, encodeInto, sequenceAt } from '../bytes/utf8.ts'
import { columnsOf, joinsCluster, widenedBy } from './width.ts'

/** The further columns of a wide character or a tab. */
const continuation = 0
const space = 0x20
/** A column that nobody wrote: a space between texts, nothing at the end of a line. */
const blank = 0x200000
const tab = 0x09
const tabColumns = 8

/** One line as a terminal holds it: a code point a column. Every operation costs what it writes. */
export class Cells {
  #codes = new Uint32Array(128)
  #length = 0
  /** What joined the character of a column: combining marks, the rest of an emoji or of a syllable. */
  #marks: Map<number, number[]> | null = null
  /** The column after the last `write`. */
  next = 0

  /** Columns up to the last that was written. */
  get length(): number {
    return this.#length
  }

  /** Makes it an empty line again. */
  reset(): void {
    this.#length = 0
    this.#marks = null
    this.next = 0
  }

  /** Writes a printable character or a tab at `column`; answers the column after it. */
  put(column: number, code: number): number {
    if (code === tab) return this.#putTab(column)
    if (code >= 0x300 && column > 0 && column <= this.#length) {
      const start = this.#unitStart(column - 1)
      if (this.#joins(start, column, code)) return this.#join(start, column, code)
    }
    const columns = columnsOf(code)
    this.#open(column, column + columns)
    this.#codes[column] = code
    if (columns === 2) this.#codes[column + 1] = continuation
    return column + columns
  }

  /**
   * Puts the characters of `bytes[from, to)`, a text without newlines, from `column` on, as long as
   * the column is below `limit`. Answers how far it read; `next` is the column then.
   */
  write(column: number, bytes: Uint8Array, from: number, to: number, limit: number): number {
    let next = column
    let at = from
    while (at < to && next < limit) {
      const byte = bytes[at]!
      if (byte >= space && byte < 0x7f) {
        if (next >= this.#length || this.#marks !== null || this.#isWideAt(next))
          this.#open(next, next + 1)
        this.#codes[next++] = byte
        at++
        continue
      }
      const length = byte < 0x80 ? 1 : sequenceAt(bytes, at, to)
      next = this.put(next, codePointAt(bytes, at, length))
      at += length
    }
    this.next = next
    return at
  }

  /** Blanks `[from, to)`; the line gets shorter where nothing is left behind it. */
  erase(from: number, to: number): void {
    if (from >= this.#length) return
    const stop = Math.min(to, this.#length)
    this.#open(from, stop)
    if (stop === this.#length) this.#cut(from)
    else this.#codes.fill(blank, from, stop)
  }

  /** Takes `count` columns out; what stands behind moves left. */
  remove(column: number, count: number): void {
    if (column >= this.#length) return
    const stop = Math.min(column + count, this.#length)
    this.#open(column, stop)
    this.#codes.copyWithin(column, stop, this.#length)
    this.#moveMarks(stop, column - stop)
    this.#cut(this.#length - (stop - column))
  }

  /** Makes room for `count` blank columns; what stands behind moves right. */
  insert(column: number, count: number): void {
    if (column >= this.#length) return
    this.#open(column, column)
    if (column >= this.#length) return
    this.#reserve(this.#length + count)
    this.#codes.copyWithin(column + count, column, this.#length)
    this.#codes.fill(blank, column, column + count)
    this.#length += count
    this.#moveMarks(column, count)
  }

  /** Drops the last character. */
  eraseLast(): void {
    if (this.#length > 0) this.#cut(this.#unitStart(this.#length - 1))
  }

  /** The code point before `column`, for repeating; a space where there is none. */
  before(column: number): number {
    if (column === 0 || column > this.#length) return space
    const code = this.#codes[this.#unitStart(column - 1)]!
    return code === blank ? space : code
  }

  /** At most so many bytes are written by `encode`. */
  get maxEncodedBytes(): number {
    let bytes = this.#length * 4
    for (const marks of this.#marks?.values() ?? []) bytes += marks.length * 4
    return bytes
  }

  /** Writes the line as UTF-8 at `target[at]`; answers the place after it. */
  encode(target: Uint8Array, at: number): number {
    let next = at
    for (let column = 0; column < this.#length; column++) {
      const code = this.#codes[column]!
      if (code !== continuation) next = encodeInto(target, next, code === blank ? space : code)
      if (this.#marks !== null && code !== continuation) {
        for (const mark of this.#marks.get(column) ?? []) next = encodeInto(target, next, mark)
      }
    }
    return next
  }

  /** Whether a character written at `column` becomes a part of the one in the columns from `start` on. */
  #joins(start: number, column: number, code: number): boolean {
    // In the middle of a wide character it takes its place.
    if (column < this.#length && this.#codes[column] === continuation) return false
    const first = this.#codes[start]!
    if (first === tab) return false
    const last = this.#marks?.get(start)?.at(-1) ?? first
    return joinsCluster(first === blank ? space : first, last === blank ? space : last, code)
  }

  /** Answers the column after the character, which may have become wider. */
  #join(start: number, column: number, code: number): number {
    const isWider = widenedBy(column - start, code) > column - start
    if (isWider) {
      this.#open(column, column + 1)
      this.#codes[column] = continuation
    }
    this.#mark(start, code)
    return isWider ? column + 1 : column
  }

  #putTab(column: number): number {
    const stop = (Math.floor(column / tabColumns) + 1) * tabColumns
    // Over text a tab only moves.
    if (column < this.#length) return stop
    this.#open(column, stop)
    this.#codes.fill(continuation, column, stop)
    this.#codes[column] = tab
    return stop
  }

  /** Makes `[from, to)` writable: room, spaces up to `from`, and no half of a wide character around it. */
  #open(from: number, to: number): void {
    this.#reserve(to)
    if (from < this.#length) {
      this.#split(from)
      if (to < this.#length) this.#split(to)
      if (this.#marks !== null) for (let at = from; at < to; at++) this.#marks.delete(at)
    }
    if (from > this.#length) this.#codes.fill(blank, this.#length, from)
    if (to > this.#length) this.#length = to
  }

  /** A character that lies across the border before `column` becomes spaces. */
  #split(column: number): void {
    if (this.#codes[column] !== continuation) return
    const start = this.#unitStart(column)
    this.#marks?.delete(start)
    let end = column
    while (end < this.#length && this.#codes[end] === continuation) end++
    this.#codes.fill(blank, start, end)
    if (end === this.#length) this.#cut(start)
  }

  #isWideAt(column: number): boolean {
    return (
      this.#codes[column] === continuation ||
      (column + 1 < this.#length && this.#codes[column + 1] === continuation)
    )
  }

  #unitStart(column: number): number {
    let start = column
    while (start > 0 && this.#codes[start] === continuation) start--
    return start
  }

  #cut(column: number): void {
    let length = column
    while (length > 0 && this.#codes[length - 1] === blank) length--
    this.#length = length
    if (this.#marks === null) return
    for (const column of this.#marks.keys()) if (column >= length) this.#marks.delete(column)
  }

  #mark(column: number, code: number): void {
    this.#marks ??= new Map()
    const marks = this.#marks.get(column)
    if (marks === undefined) this.#marks.set(column, [code])
    // More than that in one place is an attack on memory, not a language.
    else if (marks.length < 32) marks.push(code)
  }

  #moveMarks(from: number, distance: number): void {
    if (this.#marks === null) return
    const moved = [...this.#marks].map(([column, marks]): [number, number[]] => {
      return [column < from ? column : column + distance, marks]
    })
    this.#marks = new Map(moved)
  }

  #reserve(columns: number): void {
    if (columns <= this.#codes.length) return
    const grown = new Uint32Array(Math.max(columns, this.#codes.length * 2))
    grown.set(this.#codes.subarray(0, this.#length))
    this.#codes = grown
  }
}
