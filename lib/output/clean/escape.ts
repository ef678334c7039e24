import {
  type ControlSequence,
  decodeSequence,
  endOfSequence,
  endOfShortString,
  endOfString,
  none,
  notYet,
} from './sequence.ts'
import { incomplete, sequenceAt } from '../bytes/utf8.ts'

/** What a parser finds, in order. An answer `false` stops it before that piece. */
export interface EscapeHandler {
  /** Printable characters, tabs and newlines, as valid UTF-8. */
  text(bytes: Uint8Array, from: number, to: number): void
  /** What is no UTF-8: shown as U+FFFD. */
  invalid(): void
  /** So many control characters that no text has. */
  dropped(count: number): void
  /** A carriage return that no newline follows, or a backspace. */
  control(code: typeof CR | typeof BS): void
  /** A control sequence other than SGR (`ESC [ … m`), which never concerns the text. */
  sequence(sequence: ControlSequence): boolean
  /** `ESC <final>` without intermediates, other than the introducers of strings and sequences. */
  escape(final: string): boolean
}

export const BS = 0x08
export const CR = 0x0d
const tab = 0x09
const newline = 0x0a
const ESC = 0x1b
const DEL = 0x7f
const CSI = 0x9b
/** The final byte of `ESC [ … m`. */
const SGR = 0x6d
const maxCharacterBytes = 4
/** Longer ones take the common way. */
const maxColourBytes = 64
/** DCS, SOS, OSC, PM and APC in 8 bits; in 7 bits each is ESC and the byte 0x40 below. */
const stringIntroducers = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f])

/** NUL, BEL, VT, FF and DEL stand in texts too. */
export function isCommonControl(byte: number): boolean {
  return byte === 0 || byte === 7 || byte === 0x0b || byte === 0x0c || byte === DEL
}

/** Takes a stream apart into what is shown and what commands a terminal (ECMA-48, and xterm's strings). */
export class EscapeParser {
  readonly #handler: EscapeHandler
  #plain = new Uint8Array(0)
  /** Whether it stands within OSC, DCS, APC, PM or SOS. */
  #inString = false
  #isRefused = false
  #isHalted = false

  constructor(handler: EscapeHandler) {
    this.#handler = handler
  }

  /** Whether the next byte is read as text. */
  get isAtText(): boolean {
    return !this.#inString
  }

  /** Ends the call under way after the piece that is being read. */
  halt(): void {
    this.#isHalted = true
  }

  /** Whether the last call ended before a piece that the handler answered `false` to. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /**
   * Reads `bytes[from, to)` and answers where it stopped: at `to`, before a refused piece, or before an
   * unfinished one (some thousand bytes at most), which the caller brings again with more behind it.
   * With `last` nothing more will come.
   */
  parse(bytes: Uint8Array, from: number, to: number, last: boolean): number {
    this.#isRefused = false
    this.#isHalted = false
    let at = from
    while (at < to && !this.#isHalted) {
      if (this.#inString) {
        at = this.#skipString(bytes, at, to)
        if (this.#inString) return last ? to : at
        continue
      }
      const next = this.#readText(bytes, at, to) || this.#readControl(bytes, at, to, last)
      if (next === at) return last && !this.#isRefused ? to : at
      at = next
    }
    return at
  }

  /** The same for one piece that is not text, or the text up to it. */
  parsePiece(bytes: Uint8Array, from: number, to: number): number {
    this.#isRefused = false
    if (this.#inString) return this.#skipString(bytes, from, to)
    return (
      this.#readText(bytes, from, Math.min(to, from + maxCharacterBytes)) ||
      this.#readControl(bytes, from, to, false)
    )
  }

  #skipString(bytes: Uint8Array, from: number, to: number): number {
    const { found, at } = endOfString(bytes, from, to)
    this.#inString = !found
    return at
  }

  /** Text with its colours taken out, in one piece: the hot loop of coloured output. 0: no text here. */
  #readText(bytes: Uint8Array, from: number, to: number): number {
    if (this.#plain.length < to - from) this.#plain = new Uint8Array(to - from)
    const plain = this.#plain
    let at = from
    let length = 0
    while (at < to) {
      const byte = bytes[at]!
      if (byte >= 0x20 ? byte < DEL : byte === newline || byte === tab) {
        plain[length++] = byte
        at++
      } else if (byte >= 0x80) {
        const width = sequenceAt(bytes, at, to)
        if (width <= 0 || (byte === 0xc2 && bytes[at + 1]! < 0xa0)) break
        for (const end = at + width; at < end; at++) plain[length++] = bytes[at]!
      } else {
        if (byte !== ESC || bytes[at + 1] !== CSI - 0x40) break
        let end = at + 2
        while (end < to && bytes[end]! >= 0x30 && bytes[end]! <= 0x3b) end++
        if (end >= to || bytes[end] !== SGR || end - at > maxColourBytes) break
        at = end + 1
      }
    }
    if (length > 0) this.#handler.text(plain, 0, length)
    return at === from ? 0 : at
  }

  /** Reads one piece that is not text; answers `at` where it must wait or was refused. */
  #readControl(bytes: Uint8Array, at: number, to: number, last: boolean): number {
    const byte = bytes[at]!
    if (byte === ESC) return this.#readEscape(bytes, at, to)
    if (byte === CR) {
      if (at + 1 >= to && !last) return at
      if (at + 1 >= to || bytes[at + 1] !== newline) this.#handler.control(CR)
      return at + 1
    }
    if (byte === BS) {
      this.#handler.control(BS)
      return at + 1
    }
    if (byte >= 0x80) return this.#readBeyondAscii(bytes, at, to, last)
    let next = at + 1
    while (next < to && bytes[next] === byte) next++
    if (!isCommonControl(byte)) this.#handler.dropped(next - at)
    return next
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
    if (this.#handler.escape(String.fromCharCode(next))) return at + 2
    this.#isRefused = true
    return at
  }

  /** A sequence that begins at `at` and whose parameters begin at `from`. */
  #readSequence(bytes: Uint8Array, at: number, from: number, to: number): number {
    const end = endOfSequence(bytes, from, to)
    if (end === notYet) return at
    if (end === none) return from
    if (bytes[end - 1] === SGR) return end
    if (this.#handler.sequence(decodeSequence(bytes, from, end))) return end
    this.#isRefused = true
    return at
  }

  /** An invalid byte, or a control character of 8 bits, alone or encoded. */
  #readBeyondAscii(bytes: Uint8Array, at: number, to: number, last: boolean): number {
    const length = sequenceAt(bytes, at, to)
    if (length === incomplete) {
      if (last) this.#handler.invalid()
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
    if (!isEncoded) this.#handler.invalid()
    return after
  }
}
