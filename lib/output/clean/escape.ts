import {
  type ControlSequence,
  decodeSequence,
  endOfSequence,
  endOfShortString,
  endOfString,
  none,
  notYet,
} from './sequence.ts'
import { type BinarySigns, enoughInvalid, isBinary, readBinary } from './binary.ts'
import { maxEditableBytes } from './held.ts'
import { incomplete, replacement, sequenceAt } from '../bytes/utf8.ts'

/** What a parser finds, in order. An answer `false` stops it before that piece. */
export interface EscapeHandler {
  /** Printable characters, tabs and newlines, as valid UTF-8: what is none is U+FFFD. */
  text(bytes: Uint8Array, from: number, to: number): void
  /** A carriage return that no newline follows, or a backspace. */
  control(code: typeof CR | typeof BS): void
  /** A control sequence other than SGR (`ESC [ … m`), which never concerns the text. */
  sequence(sequence: ControlSequence): boolean
  /** `ESC <final>` without intermediates, other than the introducers of strings and sequences. */
  escape(final: string): boolean
  /** From here on it is binary data: only `text` follows. */
  binary(): void
}

export const BS = 0x08
export const CR = 0x0d
const BEL = 0x07
const tab = 0x09
const newline = 0x0a
const VT = 0x0b
const FF = 0x0c
const ESC = 0x1b
const DEL = 0x7f
const CSI = 0x9b
/** The final byte of `ESC [ … m`. */
const SGR = 0x6d
/** The first byte of U+0080 to U+00BF. */
const C2 = 0xc2
/** Longer ones take the common way. */
const maxColourBytes = 64
/** DCS, SOS, OSC, PM and APC in 8 bits; in 7 bits each is ESC and the byte 0x40 below. */
const stringIntroducers = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f])

/** Takes a stream apart into what is shown and what commands a terminal (ECMA-48, and xterm's strings). */
export class EscapeParser {
  readonly #handler: EscapeHandler
  readonly #signs: BinarySigns
  #plain = new Uint8Array(0)
  /** Whether it stands within OSC, DCS, APC, PM or SOS. */
  #inString = false
  #isRefused = false
  #isBinary: boolean
  /** Whether the cursor has just gone back to the start of its line. */
  #isAtLineStart = false

  /** Goes on counting where another parser left off with such `signs`. */
  constructor(handler: EscapeHandler, signs: BinarySigns = { invalid: 0, dropped: 0 }) {
    this.#handler = handler
    this.#signs = { invalid: signs.invalid, dropped: signs.dropped }
    this.#isBinary = isBinary(signs.invalid, signs.dropped)
  }

  /** Whether the next byte is read as text. */
  get isAtText(): boolean {
    return !this.#inString
  }

  get signs(): BinarySigns {
    return { ...this.#signs }
  }

  /** Whether it reads binary data, now and to the end. */
  get isBinary(): boolean {
    return this.#isBinary
  }

  /** Whether this is no output for a terminal. */
  get isFile(): boolean {
    return this.#signs.invalid >= enoughInvalid
  }

  /** Whoever else has read a part of the stream has found that it is no output for a terminal. */
  takeForFile(): void {
    this.#signs.invalid = enoughInvalid
  }

  /**
   * Reads `bytes[from, to)` and answers where it stopped: at `to`, before a refused piece, or before an
   * unfinished one (some thousand bytes at most), which the caller brings again with more behind it.
   * With `last` nothing more will come.
   */
  parse(bytes: Uint8Array, from: number, to: number, last: boolean): number {
    this.#isRefused = false
    this.#isAtLineStart = false
    let at = from
    while (at < to) {
      if (this.#inString) {
        at = this.#skipString(bytes, at, to)
        if (this.#inString) return last ? to : at
        continue
      }
      const textEnd = this.#isBinary
        ? this.#skipBinary(bytes, at, to)
        : this.#readText(bytes, at, to)
      const next = textEnd > at ? textEnd : this.#readControl(bytes, at, to, last)
      if (next === at) return last && !this.#isRefused ? to : at
      at = next
    }
    return at
  }

  /** Whether the last call ended before a piece that the handler answered `false` to. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  #skipString(bytes: Uint8Array, from: number, to: number): number {
    const { found, at } = endOfString(bytes, from, to)
    this.#inString = !found
    return at
  }

  /**
   * The hot loop of all that is more than plain text: takes out colours and what is not shown, replaces what is
   * no UTF-8, and writes states of a line over each other as long as each byte is a column. Answers where it
   * stopped: before what needs more than that.
   */
  #readText(bytes: Uint8Array, from: number, to: number): number {
    const plain = this.#reserve(to - from)
    let { invalid, dropped } = this.#signs
    let at = from
    let length = 0
    /** Where the line begins in `plain`; -1: elsewhere, or not every byte of it is a column. */
    let lineStart = this.#isAtLineStart ? 0 : -1
    this.#isAtLineStart = false
    /** How far an earlier state of the line reaches, of which the cursor went back to the start. */
    let lineEnd = 0
    while (at < to) {
      const byte = bytes[at]!
      if (byte >= 0x20 && byte < DEL) {
        plain[length++] = byte
        at++
      } else if (byte === newline) {
        if (length < lineEnd) length = lineEnd
        plain[length++] = byte
        lineStart = length
        at++
      } else if (byte === ESC) {
        const end = endOfColour(bytes, at, to)
        if (end < 0) break
        at = end
      } else if (byte === CR) {
        if (bytes[at + 1] !== newline) {
          if (lineStart < 0 || at + 1 >= to || length - lineStart > maxEditableBytes) break
          if (lineEnd < length) lineEnd = length
          length = lineStart
        }
        at++
      } else if (byte === tab || byte >= 0x80) {
        if (length < lineEnd) break
        lineStart = -1
        const width = byte === tab ? 1 : sequenceAt(bytes, at, to)
        if (width > 0) {
          if (byte === C2 && bytes[at + 1]! < 0xa0) break
          for (const end = at + width; at < end; at++) plain[length++] = bytes[at]!
        } else {
          if (width === incomplete || (byte < 0xa0 && isIntroducer(byte))) break
          plain[length++] = 0xef
          plain[length++] = 0xbf
          plain[length++] = 0xbd
          at -= width
          invalid++
          if (isBinary(invalid, dropped)) break
        }
      } else {
        if (byte === BS) break
        at++
        if (isCommonControl(byte)) continue
        dropped++
        if (isBinary(invalid, dropped)) break
      }
    }
    this.#tell(plain, length, lineStart, lineEnd)
    this.#setSigns(invalid, dropped)
    return at
  }

  /** Brings text to the handler, with the cursor at `length` of a line that reaches to `lineEnd`. */
  #tell(plain: Uint8Array, length: number, lineStart: number, lineEnd: number): void {
    const isBack = length < lineEnd
    const end = isBack ? lineEnd : length
    if (end > 0) this.#handler.text(plain, 0, end)
    if (!isBack) return
    this.#handler.control(CR)
    if (length > lineStart) this.#handler.text(plain, lineStart, length)
  }

  #skipBinary(bytes: Uint8Array, from: number, to: number): number {
    const plain = this.#reserve(to - from)
    const { at, length } = readBinary(bytes, from, to, plain)
    if (length > 0) this.#handler.text(plain, 0, length)
    return at
  }

  /** Room for so many bytes, of which each may be no UTF-8 and become three. */
  #reserve(bytes: number): Uint8Array {
    if (this.#plain.length < bytes * 3) this.#plain = new Uint8Array(bytes * 3)
    return this.#plain
  }

  #replace(): void {
    this.#handler.text(replacement, 0, replacement.length)
    this.#setSigns(this.#signs.invalid + 1, this.#signs.dropped)
  }

  #setSigns(invalid: number, dropped: number): void {
    this.#signs.invalid = invalid
    this.#signs.dropped = dropped
    if (this.#isBinary || !isBinary(invalid, dropped)) return
    this.#isBinary = true
    this.#handler.binary()
  }

  /** Reads one piece that is not text; answers `at` where it must wait or was refused. */
  #readControl(bytes: Uint8Array, at: number, to: number, last: boolean): number {
    const byte = bytes[at]!
    // Perhaps the first half of `\r\n`.
    if (byte === CR && at + 1 >= to && !last) return at
    this.#isAtLineStart = byte === CR
    if (byte === ESC) return this.#readEscape(bytes, at, to)
    if (byte === CR) {
      this.#handler.control(CR)
      return at + 1
    }
    if (byte === BS) {
      this.#handler.control(BS)
      return at + 1
    }
    return this.#readBeyondAscii(bytes, at, to, last)
  }

  #readEscape(bytes: Uint8Array, at: number, to: number): number {
    if (at + 1 >= to) return at
    const next = bytes[at + 1]!
    if (next === CSI - 0x40) return this.#readSequence(bytes, at, at + 2, to)
    if (stringIntroducers.has(next + 0x40)) {
      this.#inString = true
      return at + 2
    }
    if (next >= 0x20 && next <= 0x2f) {
      // Charset selections and the like: intermediates, then one final byte.
      let end = at + 2
      while (end < to && bytes[end]! >= 0x20 && bytes[end]! <= 0x2f && end - at < 8) end++
      if (end >= to) return at
      return bytes[end]! >= 0x30 && bytes[end]! < DEL ? end + 1 : end
    }
    if (next < 0x30 || next >= DEL) return at + 1
    if (this.#isBinary || this.#handler.escape(String.fromCharCode(next))) return at + 2
    this.#isRefused = true
    return at
  }

  /** A sequence that begins at `at` and whose parameters begin at `from`. */
  #readSequence(bytes: Uint8Array, at: number, from: number, to: number): number {
    const end = endOfSequence(bytes, from, to)
    if (end === notYet) return at
    if (end === none) return from
    if (bytes[end - 1] === SGR || this.#isBinary) return end
    if (this.#handler.sequence(decodeSequence(bytes, from, end))) return end
    this.#isRefused = true
    return at
  }

  /** An invalid byte, or a control character of 8 bits, alone or encoded. */
  #readBeyondAscii(bytes: Uint8Array, at: number, to: number, last: boolean): number {
    const length = sequenceAt(bytes, at, to)
    if (length === incomplete) {
      if (last) this.#replace()
      return at
    }
    const isEncoded = length === 2
    const code = isEncoded ? bytes[at + 1]! : bytes[at]!
    const after = at + Math.abs(length)
    if (code === CSI) {
      const next = this.#readSequence(bytes, at, after, to)
      if (this.#isRefused || next > after || (next === at && !last)) return next
    } else if (stringIntroducers.has(code)) {
      const end = endOfShortString(bytes, after, to)
      if (end === notYet && !last) return at
      if (end > 0) return end
    }
    // Encoded it is a control character, which is dropped; alone it is an invalid byte.
    if (!isEncoded) this.#replace()
    return after
  }
}

/** NUL, BEL, VT, FF and DEL stand in texts too. */
function isCommonControl(byte: number): boolean {
  return byte === 0 || byte === BEL || byte === VT || byte === FF || byte === DEL
}

/** Begins a sequence or a string in 8 bits. */
function isIntroducer(byte: number): boolean {
  return byte === CSI || stringIntroducers.has(byte)
}

/** The end of `ESC [ … m` at `at`; -1: something else stands there, or more must come. */
function endOfColour(bytes: Uint8Array, at: number, to: number): number {
  if (bytes[at + 1] !== CSI - 0x40) return -1
  let end = at + 2
  while (end < to && bytes[end]! >= 0x30 && bytes[end]! <= 0x3b) end++
  return end >= to || bytes[end] !== SGR || end - at > maxColourBytes ? -1 : end + 1
}
