import { noBytes } from '../bytes/ends.ts'
import { incomplete, sequenceAt } from '../bytes/utf8.ts'
import { maxEditableBytes } from './held.ts'
import { endOfColour, isIntroducer } from './sequence.ts'

export const BS = 0x08
const tab = 0x09
const newline = 0x0a
export const CR = 0x0d
export const ESC = 0x1b
const DEL = 0x7f
/** Control characters that are dropped, and that texts have too: NUL, BEL, VT, FF, DEL. */
const common = [0x00, 0x07, 0x0b, 0x0c, DEL]
/** The first byte of U+0080 to U+00BF. */
const C2 = 0xc2
/** U+FFFD. */
const [first, second, third] = [0xef, 0xbf, 0xbd]

/**
 * After so many control characters that no text has, a stream is the contents of a file: nothing in it moves a
 * cursor.
 */
export const enoughDropped = 100

/** A byte and the next one are more than two that stand for themselves if both have the same of these bits. */
const character = 1 << 10
const special = 1 << 11
/** Of each byte: bits 0 to 7 what is written for it, 8 and 9 how many bytes of it, 12 whether no text has it. */
const entries = Uint16Array.from({ length: 256 }, (_, byte) => {
  if ([newline, CR, BS, ESC].includes(byte) || isIntroducer(byte)) return special
  if (byte >= 0x80) return first | (3 << 8) | (byte >= C2 && byte <= 0xf4 ? character : 0)
  if (byte === tab || (byte >= 0x20 && byte < DEL)) return byte | (1 << 8)
  return common.includes(byte) ? 0 : 1 << 12
})
const goesOn = Uint16Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 && byte < 0xc0 ? character | special : special,
)

/**
 * The hot loop of all that is more than plain text: takes out colours and what is not shown, replaces what is no
 * UTF-8, and writes states of a line over each other as long as each byte is a column.
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
  /** Control characters so far that no text has. */
  dropped: number

  constructor(dropped: number) {
    this.dropped = dropped
  }

  /** Whether it reads binary data, now and to the end. */
  get isBinary(): boolean {
    return this.dropped >= enoughDropped
  }

  /**
   * Reads the text in `bytes[from, to)`; answers where it stopped: at `to`, or before what needs more than that.
   * `hasReturned`: the cursor has just gone back to the start of its line; `isAtEnd`: nothing is to its right.
   */
  read(
    bytes: Uint8Array,
    from: number,
    to: number,
    { hasReturned, isAtEnd }: { hasReturned: boolean; isAtEnd: boolean },
  ): number {
    const text = this.#reserve(to - from)
    const { isBinary } = this
    const mostDropped = isBinary ? Infinity : enoughDropped
    let { dropped } = this
    let at = from
    let length = 0
    /** Where the line begins in `text`; -1: elsewhere. */
    let lineStart = hasReturned ? 0 : -1
    let stateStart = -1
    while (at < to && dropped < mostDropped) {
      const byte = bytes[at]!
      const next = at + 1 < bytes.length ? bytes[at + 1]! : 0x80
      const entry = entries[byte]!
      // One branch for most bytes: those of random data mislead the processor's prediction.
      if ((entry & goesOn[next]!) === 0) {
        // What stands beyond its length is written over by the next byte.
        text[length] = entry
        text[length + 1] = second
        text[length + 2] = third
        length += (entry >> 8) & 3
        dropped += entry >> 12
        at++
      } else if (byte === newline) {
        if (stateStart >= 0) {
          if (!isColumns(text, stateStart, length)) break
          length = overwrite(text, lineStart, stateStart, length)
          stateStart = -1
        }
        text[length++] = newline
        lineStart = length
        at++
      } else if (byte === ESC) {
        const end = endOfColour(bytes, at, isAtEnd && stateStart < 0)
        if (end < 0) break
        at = end
      } else if (byte === CR) {
        if (next !== newline && !isBinary) {
          const start = Math.max(lineStart, stateStart)
          if (start < 0 || at + 1 >= bytes.length || length - start > maxEditableBytes) break
          if (!isColumns(text, start, length)) break
          if (stateStart >= 0) length = overwrite(text, lineStart, stateStart, length)
          stateStart = length
        }
        at++
      } else if (byte === BS) {
        if (!isBinary) break
        at++
      } else {
        const width = sequenceAt(bytes, at, bytes.length)
        const isControl = width < 0 ? byte < C2 : byte === C2 && next < 0xa0
        if (width === incomplete || (isControl && !isBinary)) break
        if (width < 0) {
          text[length++] = first
          text[length++] = second
          text[length++] = third
          at -= width
        } else if (isControl) at += width
        else for (const end = at + width; at < end; at++) text[length++] = bytes[at]!
      }
    }
    this.length = length
    this.stateStart = stateStart
    this.dropped = Math.min(dropped, enoughDropped)
    return at
  }

  /** Room for so many bytes, of which each may be no UTF-8 and become three. */
  #reserve(bytes: number): Uint8Array {
    const room = bytes * 3 + 8
    if (this.bytes.length < room) this.bytes = new Uint8Array(room)
    return this.bytes
  }
}

/** Whether each byte of a line is a column. */
function isColumns(text: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (text[at]! >= 0x80 || text[at] === tab) return false
  return true
}

/** Writes `text[from, to)` over the state before it, which begins at `start`; answers where the line ends. */
function overwrite(text: Uint8Array, start: number, from: number, to: number): number {
  let end = start
  for (let at = from; at < to; at++) text[end++] = text[at]!
  return Math.max(end, from)
}
