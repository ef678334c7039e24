import { noBytes } from '../bytes/ends.ts'
import { codePointAt, incomplete, sequenceAt } from '../bytes/utf8.ts'
import { fixedColumnsOf } from './edited-line.ts'
import { maxEditableBytes } from './held.ts'
import { CHA, endOfColour, endOfLineEdit, isIntroducer } from './sequence.ts'

export const BS = 0x08
const tab = 0x09
const newline = 0x0a
const space = 0x20
export const CR = 0x0d
export const ESC = 0x1b
const NUL = 0x00
const DEL = 0x7f
/** Control characters that are dropped, and that texts have too, as NUL: BEL, VT, FF, DEL. */
const common = [0x07, 0x0b, 0x0c, DEL]
/** The first byte of U+0080 to U+00BF. */
const C2 = 0xc2
/** U+FFFD, the first byte in the lowest bits. */
const replaced = 0xbdbfef

/**
 * After so many control characters that no text has, a stream is the contents of a file: nothing in it moves a
 * cursor.
 */
export const enoughDropped = 100

/** A byte and the next one are more than two that stand for themselves if both have the same of these bits. */
const character = 1 << 26
const special = 1 << 27
/** Of each byte of binary data: bits 0 to 23 what is written for it, 24 and 25 how many bytes of it. */
const entries = Int32Array.from({ length: 256 }, (_, byte) => {
  if (byte === ESC) return special
  const isLead = byte >= C2 && byte <= 0xf4
  if (byte >= 0x80) return replaced | (3 << 24) | (isLead ? character : 0)
  return byte === tab || byte === newline || (byte >= space && byte < DEL) ? byte | (1 << 24) : 0
})
/** In place of the byte after the last one. */
const more = 0x100
const goesOn = Int32Array.from({ length: more + 1 }, (_, byte) => {
  if (byte === more) return character | special
  return byte >= space && byte < DEL ? special : byte >= 0x80 && byte < 0xc0 ? character : 0
})

/** Where the text that is read begins. */
export interface Start {
  isFirstColumn: boolean
  /** Nothing is to the right of the cursor. */
  isAtEnd: boolean
  /** So many bytes of its line are before it, or fewer. */
  lineBytes: number
}

/**
 * The hot loops for everything beyond plain text. They drop colours and characters that are not shown, replace invalid
 * UTF-8, and write the states of a redrawn line over each other, if the columns of each are known from its bytes alone.
 */
export class TextReader {
  /** What was read last is in its first `length` bytes, as valid UTF-8. */
  bytes: Uint8Array = noBytes
  length = 0
  /**
   * From here on it is a further state of its last line: the cursor went back to the start of the line, which
   * reaches to here; -1: there is one state.
   */
  stateStart = -1
  /** What stood in its first line is erased. */
  isErased = false
  /** Control characters so far that no text has. */
  dropped: number
  /** Where the last line begins in `bytes`; -1: elsewhere. */
  #lineStart = -1
  /** Whether each byte of the last state is a column. */
  #isEven = true
  /** Where the states before the last one, in one, begin: not at the start of their line if they were written over. */
  #olderStart = -1
  #columns = 0
  #isAtEnd = false

  constructor(dropped: number) {
    this.dropped = dropped
  }

  /** Whether it reads binary data, now and to the end. */
  get isBinary(): boolean {
    return this.dropped >= enoughDropped
  }

  /** Reads the text in `bytes[from, to)`; answers where it stopped: at `to`, or before what needs more than that. */
  read(bytes: Uint8Array, from: number, to: number, start: Start): number {
    // Each byte may be no UTF-8 and become three; the rest of an older state is put behind the last one.
    const room = (to - from) * 3 + maxEditableBytes + 8
    if (this.bytes.length < room) this.bytes = new Uint8Array(room)
    this.stateStart = -1
    this.isErased = false
    this.#lineStart = start.isFirstColumn ? 0 : -1
    this.#isEven = true
    this.#isAtEnd = start.isAtEnd
    if (this.isBinary) return this.#readBinary(bytes, from, to)
    const end = this.#readText(bytes, from, to, start.lineBytes)
    if (this.stateStart >= 0) {
      this.stateStart -= this.#olderStart - this.#lineStart
      this.length = this.#settle(this.#olderStart, this.length)
    }
    return end
  }

  #readText(bytes: Uint8Array, from: number, to: number, lineBytes: number): number {
    const text = this.bytes
    let at = from
    let length = 0
    while (at < to) {
      const byte = bytes[at]!
      if (byte >= space && byte < DEL) {
        text[length++] = byte
        at++
      } else if (byte >= C2) {
        const width = sequenceAt(bytes, at, bytes.length)
        if (width === incomplete || (byte === C2 && width > 0 && bytes[at + 1]! < 0xa0)) break
        if (width < 0) {
          length = this.#replace(length)
          at -= width
        } else {
          this.#isEven = false
          text[length] = byte
          text[length + 1] = bytes[at + 1]!
          if (width > 2) text[length + 2] = bytes[at + 2]!
          if (width > 3) text[length + 3] = bytes[at + 3]!
          length += width
          at += width
        }
      } else if (byte === newline) {
        if (this.stateStart >= 0) {
          const merged = this.#merge(length)
          if (merged < 0) break
          length = this.#settle(this.#olderStart, merged)
          this.stateStart = -1
        }
        text[length++] = newline
        this.#lineStart = length
        this.#isEven = true
        this.#isAtEnd = true
        at++
      } else if (byte === ESC) {
        let end = endOfColour(bytes, at)
        if (end < 0) {
          end = endOfLineEdit(bytes, at)
          const edited = end < 0 ? -1 : this.#edit(bytes, end, length)
          if (edited < 0) break
          length = edited
        }
        at = end
      } else if (byte === CR) {
        if (at + 1 >= bytes.length) break
        const edited = bytes[at + 1] === newline ? length : this.#goBack(length)
        if (edited < 0) break
        length = edited
        at++
      } else if (byte === tab) {
        text[length++] = tab
        this.#isEven = false
        at++
      } else if (byte === BS) {
        const lineStart = this.#lineStart
        const before = lineStart < 0 ? lineBytes : -lineStart
        const isOnlyState = this.stateStart < 0 || this.stateStart === lineStart
        if (!this.#isAtEnd || !isOnlyState || before + length > maxEditableBytes) break
        if (length === Math.max(lineStart, 0)) break
        if (text[length - 1]! < space || text[length - 1]! >= 0x80) break
        if (lineStart >= 0) this.#openState()
        length--
        at++
      } else if (byte >= 0x80) {
        if (isIntroducer(byte)) break
        length = this.#replace(length)
        at++
      } else {
        at++
        if (byte !== NUL && !common.includes(byte) && ++this.dropped === enoughDropped) break
      }
    }
    this.length = length
    return at
  }

  #readBinary(bytes: Uint8Array, from: number, to: number): number {
    const text = this.bytes
    const view = new DataView(text.buffer)
    let at = from
    let length = 0
    let byte = bytes[at]!
    while (at < to) {
      const next = at + 1 < bytes.length ? bytes[at + 1]! : more
      const entry = entries[byte]!
      // One branch for most bytes: those of random data mislead the processor's prediction.
      if ((entry & goesOn[next]!) === 0) {
        // What stands beyond its length is written over by the next byte.
        view.setInt32(length, entry, true)
        length += (entry >> 24) & 3
        byte = next
        at++
        continue
      }
      let end = at + 2
      if (byte === ESC) {
        // The others are longer than two bytes.
        if (next < 0x30 || next === more || isIntroducer(next + 0x40)) break
      } else {
        const width = byte < 0xe0 && next < more ? 2 : sequenceAt(bytes, at, bytes.length)
        if (width === incomplete) break
        end = at + Math.abs(width)
        if (width < 0) length = this.#replace(length)
        else if (byte !== C2 || next >= 0xa0) while (at < end) text[length++] = bytes[at++]!
      }
      at = end
      byte = bytes[at]!
    }
    this.length = length
    return at
  }

  #replace(length: number): number {
    this.bytes[length] = replaced & 0xff
    this.bytes[length + 1] = (replaced >> 8) & 0xff
    this.bytes[length + 2] = replaced >> 16
    this.#isEven = false
    return length + 3
  }

  /** Goes to the first column; answers where the text ends; -1: it cannot. */
  #goBack(length: number): number {
    const start = Math.max(this.#lineStart, this.stateStart)
    if (start < 0 || length - start > maxEditableBytes) return -1
    if (this.stateStart === length) return length
    let end = length
    if (this.stateStart >= 0) end = this.#merge(length)
    else {
      this.#columns = this.#countColumns(start, length)
      if (this.#columns < 0) return -1
      this.#olderStart = start
    }
    if (end < 0) return -1
    this.stateStart = end
    this.#isEven = true
    return end
  }

  /** Carries out the line edit that ends at `end` of `bytes`; answers where the text ends; -1: it cannot. */
  #edit(bytes: Uint8Array, end: number, length: number): number {
    if (bytes[end - 1] === CHA) return this.#goBack(length)
    const isWhole = bytes[end - 2] === 0x32
    if (!isWhole && this.#isAtEnd && this.stateStart < 0) return length
    const start = Math.max(this.#lineStart, this.stateStart)
    if (start < 0 || length - start > maxEditableBytes) return -1
    let kept = length
    if (isWhole && length > start) {
      // The cursor stays in its column, unless it goes back at once.
      const next = bytes[end] === ESC ? endOfLineEdit(bytes, end) : -1
      if (bytes[end] !== CR && (next < 0 || bytes[next - 1] !== CHA)) return -1
      kept = start
      this.#isEven = true
    } else if (this.#countColumns(start, length) < 0) return -1
    if (this.#lineStart === 0) this.isErased = true
    this.#isAtEnd = true
    kept = this.#settle(start, kept)
    this.#openState()
    return kept
  }

  /** Writes the last state over those before it; answers where the line ends; -1: it cannot be done here. */
  #merge(length: number): number {
    const { bytes: text, stateStart } = this
    const columns = this.#countColumns(stateStart, length)
    if (columns < 0) return -1
    if (columns >= this.#columns) {
      this.#columns = columns
      this.#olderStart = stateStart
      return length
    }
    let rest = this.#olderStart
    for (let column = 0; column < columns;) {
      const width = lengthOf(text[rest]!)
      column += width === 1 ? 1 : fixedColumnsOf(codePointAt(text, rest, width))
      // Half of a wide character would be left.
      if (column > columns) return -1
      rest += width
    }
    if (length - rest > maxEditableBytes) return -1
    let end = length
    while (rest < stateStart) text[end++] = text[rest++]!
    this.#olderStart = this.#lineStart
    return this.#settle(stateStart, end)
  }

  /** How many columns a part of the last state has; -1: that depends on where it stands. */
  #countColumns(from: number, to: number): number {
    if (this.#isEven) return to - from
    const text = this.bytes
    let columns = 0
    for (let at = from; at < to;) {
      const byte = text[at]!
      if (byte === tab) return -1
      const width = lengthOf(byte)
      const own = width === 1 ? 1 : fixedColumnsOf(codePointAt(text, at, width))
      if (own === 0) return -1
      columns += own
      at += width
    }
    return columns
  }

  /** What stands in the line is edited from now on: it is a state over one without text. */
  #openState(): void {
    this.stateStart = this.#lineStart
    this.#olderStart = this.#lineStart
    this.#columns = 0
  }

  /** Moves what begins at `from` and reaches to `end` to the start of its line; answers where it ends then. */
  #settle(from: number, end: number): number {
    const text = this.bytes
    let to = this.#lineStart
    for (let at = from; at < end; at++) text[to++] = text[at]!
    return to
  }
}

/** The length of a valid sequence that begins with this byte. */
function lengthOf(byte: number): number {
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
}
