import { eastAsianWidth } from 'get-east-asian-width'
import { maxEditableBytes } from './held.ts'

/** The second column of a wide character, and the further columns of a tab. */
const continuation = ''
/** A column that nobody wrote: a space between texts, nothing at the end of a line. */
const blank = null
const newline = 0x0a
const tabColumns = 8
/** More in one column is an attack on memory, not a language. */
const maxUnits = 64

/** What is shown in the column of the character before it: combining marks, joiners, variation selectors, skin tones. */
const extending = /^[\p{Mark}\p{Emoji_Modifier}\u200b-\u200f\u2060-\u2064\ufeff]$/u

/**
 * The last line of the text as a terminal holds it, a character with its marks a column, while a carriage return,
 * a backspace or an erasure edits it. Columns are not limited but by `maxEditableBytes`: text is not wrapped.
 */
export class EditedLine {
  #cells: (string | null)[] = []
  #column = 0
  #isOpen = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  get isAtEnd(): boolean {
    return this.#column === this.#cells.length
  }

  /** Counted from 0. */
  get column(): number {
    return this.#column
  }

  /** Opens on a line, with the cursor behind it. */
  open(text: Uint8Array): void {
    this.#isOpen = true
    this.#cells = []
    this.#column = 0
    this.write(text, 0, text.length, Infinity)
  }

  /** Closes it; gives its text. */
  close(): Buffer {
    this.#isOpen = false
    return this.text
  }

  /** The line as UTF-8. A copy. */
  get text(): Buffer {
    return Buffer.from(this.#cells.map((cell) => cell ?? ' ').join(''))
  }

  /** Writes valid UTF-8 up to a newline, or up to the column `limit`; answers how far it read. */
  write(bytes: Uint8Array, from: number, to: number, limit = maxEditableBytes): number {
    const found = bytes.subarray(from, to).indexOf(newline)
    const end = found < 0 ? to : from + found
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString()
    let at = from
    for (const character of text) {
      if (this.#column >= limit) return at
      const code = character.codePointAt(0)!
      this.#put(character, code)
      at += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    }
    return end
  }

  /** Goes left; at the end of the line it takes the last character along. */
  backspace(): void {
    if (this.#column === 0) return
    if (this.isAtEnd) this.#cut(this.#start(this.#column - 1))
    this.#column--
  }

  moveTo(column: number): void {
    this.#column = Math.min(Math.max(column, 0), maxEditableBytes - 1)
  }

  /** Blanks `[from, to)`; the line gets shorter if nothing is left behind it. */
  erase(from: number, to: number): void {
    const { length } = this.#cells
    if (from >= length) return
    this.#split(from)
    this.#split(to)
    if (to >= length) this.#cut(from)
    else this.#cells.fill(blank, from, to)
  }

  #put(character: string, code: number): void {
    if (code === 0x09) return this.#putTab()
    const cells = this.#cells
    const column = this.#column
    if (code >= 0x300 && column > 0 && column <= cells.length && isExtending(character, code)) {
      const start = this.#start(column - 1)
      const base = cells[start] ?? ' '
      if (base.length < maxUnits) cells[start] = base + character
      return
    }
    const end = column + (code < 0x1100 || isNarrowSymbol(code) ? 1 : eastAsianWidth(code))
    this.#split(column)
    this.#split(end)
    while (cells.length < column) cells.push(blank)
    cells[column] = character
    if (end > column + 1) cells[column + 1] = continuation
    this.#column = end
  }

  /** Over text a tab only moves. */
  #putTab(): void {
    const cells = this.#cells
    const column = this.#column
    this.#column = (Math.floor(column / tabColumns) + 1) * tabColumns
    if (column < cells.length) return
    while (cells.length < column) cells.push(blank)
    cells.push('\t')
    while (cells.length < this.#column) cells.push(continuation)
  }

  /** A character that lies across the border before `column` becomes spaces. */
  #split(column: number): void {
    const cells = this.#cells
    if (cells[column] !== continuation) return
    let end = column
    while (cells[end] === continuation) end++
    cells.fill(blank, this.#start(column), end)
  }

  /** Where the character of a column begins. */
  #start(column: number): number {
    let start = column
    while (start > 0 && this.#cells[start] === continuation) start--
    return start
  }

  #cut(column: number): void {
    let length = column
    while (length > 0 && this.#cells[length - 1] === blank) length--
    this.#cells.length = length
  }
}

/** Box drawing, blocks and Braille, which progress displays are made of. */
function isNarrowSymbol(code: number): boolean {
  return (code >= 0x2500 && code < 0x25fd) || (code >= 0x2800 && code < 0x2900)
}

function isExtending(character: string, code: number): boolean {
  if (isNarrowSymbol(code) || (code >= 0x3400 && code <= 0x9fff)) return false
  return extending.test(character)
}
