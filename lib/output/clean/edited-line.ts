import { eastAsianWidth } from 'get-east-asian-width'
import { codePointAt, encodeInto, sequenceAt } from '../bytes/utf8.ts'
import { maxEditableBytes } from './held.ts'

/** The second column of a wide character, and the further columns of a tab. */
const continuation = 0
const space = 0x20
/** A column that nobody wrote: a space between texts, nothing at the end of a line. */
const blank = 0x200000
const tab = 0x09
const newline = 0x0a
const tabColumns = 8
const noCodes = new Uint32Array(0)
/** More in one column is an attack on memory, not a language. */
const maxMarks = 32

/** What is shown in the column of the character before it: combining marks, joiners, variation selectors, skin tones. */
const extending = /^[\p{Mark}\p{Emoji_Modifier}\u200b-\u200f\u2060-\u2064\ufeff]$/u

/**
 * The last line of the text as a terminal holds it, a code point a column, while a carriage return, a backspace
 * or an erasure edits it. Columns are not limited but by `maxEditableBytes`: text is not wrapped.
 */
export class EditedLine {
  #codes = noCodes
  #length = 0
  /** What joined the character of a column. */
  readonly #marks = new Map<number, number[]>()
  #column = 0
  #isOpen = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  get isAtEnd(): boolean {
    return this.#column === this.#length
  }

  /** Counted from 0. */
  get column(): number {
    return this.#column
  }

  /** Opens on a line, with the cursor behind it. */
  open(text: Uint8Array): void {
    this.#isOpen = true
    this.#length = 0
    this.#column = 0
    this.#marks.clear()
    this.write(text, 0, text.length, Infinity)
  }

  /** Closes it; gives its text. */
  close(): Uint8Array {
    this.#isOpen = false
    return this.text
  }

  /** The line as UTF-8. A copy. */
  get text(): Uint8Array {
    let room = this.#length * 4
    for (const marks of this.#marks.values()) room += marks.length * 4
    const bytes = Buffer.allocUnsafe(room)
    let at = 0
    for (let column = 0; column < this.#length; column++) {
      const code = this.#codes[column]!
      if (code === continuation) continue
      at = encodeInto(bytes, at, code === blank ? space : code)
      if (this.#marks.size === 0) continue
      for (const mark of this.#marks.get(column) ?? []) at = encodeInto(bytes, at, mark)
    }
    return bytes.subarray(0, at)
  }

  /** Writes `bytes[from, to)` up to a newline, or up to the column `limit`; answers how far it read. */
  write(bytes: Uint8Array, from: number, to: number, limit = maxEditableBytes): number {
    let at = from
    while (at < to && this.#column < limit) {
      const byte = bytes[at]!
      if (byte === newline) break
      const length = byte < 0x80 ? 1 : sequenceAt(bytes, at, to)
      this.#put(codePointAt(bytes, at, length))
      at += length
    }
    return at
  }

  /** Goes left; at the end of the line it takes the last character along. */
  backspace(): void {
    if (this.#column === 0) return
    if (this.#column === this.#length) this.#cut(this.#start(this.#length - 1))
    this.#column--
  }

  moveTo(column: number): void {
    this.#column = Math.min(Math.max(column, 0), maxEditableBytes - 1)
  }

  /** Blanks `[from, to)`; the line gets shorter if nothing is left behind it. */
  erase(from: number, to: number): void {
    if (from >= this.#length) return
    const stop = Math.min(to, this.#length)
    this.#clear(from, stop)
    if (stop >= this.#length) this.#cut(from)
    else this.#codes.fill(blank, from, stop)
  }

  #put(code: number): void {
    const column = this.#column
    if (code === tab) return this.#putTab(column)
    const fixed = fixedColumnsOf(code)
    if (fixed === 0 && column > 0 && column <= this.#length) {
      const start = this.#start(column - 1)
      const marks = this.#marks.get(start)
      if (marks === undefined) this.#marks.set(start, [code])
      else if (marks.length < maxMarks) marks.push(code)
      return
    }
    const columns = fixed === 0 ? eastAsianWidth(code) : fixed
    const end = column + columns
    this.#reserve(end)
    if (column < this.#length) this.#clear(column, Math.min(end, this.#length))
    if (column > this.#length) this.#codes.fill(blank, this.#length, column)
    this.#length = Math.max(this.#length, end)
    this.#codes[column] = code
    if (columns === 2) this.#codes[column + 1] = continuation
    this.#column = end
  }

  /** Over text a tab only moves. */
  #putTab(column: number): void {
    const stop = (Math.floor(column / tabColumns) + 1) * tabColumns
    this.#column = stop
    if (column < this.#length) return
    this.#reserve(stop)
    this.#codes.fill(blank, this.#length, column)
    this.#codes.fill(continuation, column, stop)
    this.#codes[column] = tab
    this.#length = stop
  }

  /** Makes `[from, to)` writable: no marks in it, and no half of a wide character around it. */
  #clear(from: number, to: number): void {
    this.#split(from)
    this.#split(to)
    if (this.#marks.size > 0) for (let at = from; at < to; at++) this.#marks.delete(at)
  }

  /** A character that lies across the border before `column` becomes spaces. */
  #split(column: number): void {
    if (column >= this.#length || this.#codes[column] !== continuation) return
    const start = this.#start(column)
    this.#marks.delete(start)
    let end = column
    while (end < this.#length && this.#codes[end] === continuation) end++
    this.#codes.fill(blank, start, end)
  }

  /** Where the character of a column begins. */
  #start(column: number): number {
    let start = column
    while (start > 0 && this.#codes[start] === continuation) start--
    return start
  }

  #cut(column: number): void {
    let length = column
    while (length > 0 && this.#codes[length - 1] === blank) length--
    this.#length = length
    for (const marked of this.#marks.keys()) if (marked >= length) this.#marks.delete(marked)
  }

  #reserve(columns: number): void {
    if (columns <= this.#codes.length) return
    const grown = new Uint32Array(Math.max(columns, 256, this.#codes.length * 2))
    grown.set(this.#codes.subarray(0, this.#length))
    this.#codes = grown
  }
}

/** One more than the columns of each code point that was asked for: the tables of Unicode are slow. */
const known = new Uint8Array(0x20000)

/** The columns of a character wherever it stands; 0 if that depends on the one before it. */
export function fixedColumnsOf(code: number): number {
  return code < 0x300 ? 1 : (known[code] ||= findColumns(code) + 1) - 1
}

function findColumns(code: number): number {
  return extending.test(String.fromCodePoint(code)) ? 0 : eastAsianWidth(code)
}
