import { incomplete, replacement, sequenceAt } from './utf8.ts'

/** A control sequence, told apart: `ESC [ <prefix> parameters intermediates final`. */
export interface ControlSequence {
  /** `?`, `<`, `=`, `>` or empty. */
  prefix: string
  /** A missing parameter is -1. */
  parameters: number[]
  intermediates: string
  final: string
}

/** What a parser finds, in order. An answer `true` stops it at the start of that piece. */
export interface EscapeHandler {
  /** Printable ASCII, tabs, newlines and whole valid UTF-8 sequences. */
  text(bytes: Uint8Array, from: number, to: number): void
  /** A carriage return that no newline follows, or a backspace. */
  control(code: 0x0d | 0x08): void
  /** Every control sequence but SGR (`ESC [ … m`). */
  sequence(sequence: ControlSequence): boolean
  /** `ESC <final>` without intermediates, other than the introducers of strings and sequences. */
  escape(final: string): boolean
}

/** Takes text apart into what is shown and what commands a terminal; state across calls in `Parser`. */
export interface Parser {
  /**
   * Reads `bytes[from, to)` and answers where it stopped: `to`, or earlier at a piece that the handler
   * refused, or at an unfinished sequence of at most `maxUnfinished` bytes, which the caller brings
   * again with more behind it. With `last` nothing more will come.
   */
  parse(bytes: Uint8Array, from: number, to: number, last: boolean): number
  /** Whether the next byte is read as text. */
  readonly atText: boolean
}

/** Longer control sequences are not sequences: their introducer is dropped. */
export const maxUnfinished = 256
/** An 8-bit string introducer counts only when its string ends within so many bytes and its line. */
const maxShortString = 4096

const ESC = 0x1b

export function createParser(handler: EscapeHandler): Parser {
  let inString = false

  /** The end of the string that goes on at `from`, or -1: then everything was read up to `stopped`. */
  let stopped = 0
  function findStringEnd(bytes: Uint8Array, from: number, to: number): number {
    let at = from
    while (at < to) {
      const byte = bytes[at]!
      if (byte === 0x07 || byte === 0x18 || byte === 0x1a) return at + 1
      if (byte === ESC) {
        if (at + 1 >= to) break
        return bytes[at + 1] === 0x5c ? at + 2 : at
      }
      if (byte < 0x80) at++
      else if (byte === 0x9c) return at + 1
      else {
        const length = sequenceAt(bytes, at, to)
        if (length === incomplete) break
        if (length === 2 && byte === 0xc2 && bytes[at + 1] === 0x9c) return at + 2
        at += Math.abs(length)
      }
    }
    stopped = at
    return -1
  }

  /** The end of a short string after an 8-bit introducer; -1 not a string; 0 not known yet. */
  function findShortStringEnd(bytes: Uint8Array, from: number, to: number): number {
    const limit = Math.min(to, from + maxShortString)
    for (let at = from; at < limit; at++) {
      const byte = bytes[at]!
      if (byte === 0x07 || byte === 0x9c) return at + 1
      if (byte === ESC) {
        if (at + 1 >= to) return 0
        return bytes[at + 1] === 0x5c ? at + 2 : -1
      }
      if (byte < 0x20) return -1
      if (byte >= 0x80) {
        const length = sequenceAt(bytes, at, to)
        if (length === incomplete) return 0
        if (length === 2 && byte === 0xc2 && bytes[at + 1]! < 0xa0) {
          return bytes[at + 1] === 0x9c ? at + 2 : -1
        }
        if (length < 0) return -1
        at += length - 1
      }
    }
    return limit < to || to - from >= maxShortString ? -1 : 0
  }

  /** Reads a control sequence whose parameters begin at `from`. 0: not all there; -1: none. */
  function readSequence(bytes: Uint8Array, from: number, to: number): number {
    let at = from
    while (at < to && bytes[at]! >= 0x30 && bytes[at]! <= 0x3f) at++
    while (at < to && bytes[at]! >= 0x20 && bytes[at]! <= 0x2f) at++
    if (at - from > maxUnfinished - 2) return -1
    if (at >= to) return 0
    return bytes[at]! >= 0x40 && bytes[at]! <= 0x7e ? at + 1 : -1
  }

  function tell(bytes: Uint8Array, from: number, end: number): boolean {
    if (bytes[end - 1] === 0x6d) return false
    return handler.sequence(decodeSequence(bytes, from, end))
  }

  return {
    get atText() {
      return !inString
    },
    parse(bytes, from, to, last) {
      let at = from
      while (at < to) {
        if (inString) {
          const end = findStringEnd(bytes, at, to)
          if (end < 0) return last ? to : stopped
          inString = false
          at = end
          continue
        }
        // Runs of text: the hot loop of coloured output.
        const start = at
        let byte = 0
        while (at < to) {
          byte = bytes[at]!
          if ((byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x09) at++
          else break
        }
        if (at > start) handler.text(bytes, start, at)
        if (at >= to) return to

        if (byte === ESC) {
          if (at + 1 >= to) return last ? to : at
          const next = bytes[at + 1]!
          if (next === 0x5b) {
            const end = readSequence(bytes, at + 2, to)
            if (end === 0) return last ? to : at
            if (end < 0) at += 2
            else if (tell(bytes, at + 2, end)) return at
            else at = end
          } else if (
            next === 0x5d ||
            next === 0x50 ||
            next === 0x58 ||
            next === 0x5e ||
            next === 0x5f
          ) {
            inString = true
            at += 2
          } else if (next >= 0x20 && next <= 0x2f) {
            // Charset selections and the like: intermediates, then one final byte.
            let end = at + 2
            while (end < to && bytes[end]! >= 0x20 && bytes[end]! <= 0x2f && end - at < 8) end++
            if (end >= to) return last ? to : at
            at = bytes[end]! >= 0x30 && bytes[end]! < 0x7f ? end + 1 : end
          } else if (next >= 0x30 && next < 0x7f) {
            if (handler.escape(String.fromCharCode(next))) return at
            at += 2
          } else at++
        } else if (byte === 0x0d) {
          if (at + 1 >= to && !last) return at
          if (bytes[at + 1] !== 0x0a || at + 1 >= to) handler.control(0x0d)
          at++
        } else if (byte === 0x08) {
          handler.control(0x08)
          at++
        } else if (byte < 0x80) {
          at++
          while (at < to && bytes[at] === byte) at++
        } else {
          const length = sequenceAt(bytes, at, to)
          if (length === incomplete) {
            if (!last) return at
            handler.text(replacement, 0, 3)
            return to
          }
          const c1 =
            length === 2 && byte === 0xc2 && bytes[at + 1]! < 0xa0
              ? bytes[at + 1]!
              : length === -1 && byte < 0xa0
                ? byte
                : 0
          if (c1 === 0) {
            if (length > 0) handler.text(bytes, at, at + length)
            else handler.text(replacement, 0, 3)
            at += Math.abs(length)
            continue
          }
          const after = at + Math.abs(length)
          let end = -1
          if (c1 === 0x9b) end = readSequence(bytes, after, to)
          else if (c1 === 0x90 || c1 === 0x98 || c1 >= 0x9d)
            end = findShortStringEnd(bytes, after, to)
          if (end === 0 && !last) return at
          if (end > 0) {
            if (c1 === 0x9b && tell(bytes, after, end)) return at
            at = end
          } else {
            // Encoded it is a control character, alone it is an invalid byte.
            if (length < 0) handler.text(replacement, 0, 3)
            at = after
          }
        }
      }
      return at
    },
  }
}

function decodeSequence(bytes: Uint8Array, from: number, end: number): ControlSequence {
  let at = from
  let prefix = ''
  if (bytes[at]! >= 0x3c && bytes[at]! <= 0x3f) prefix = String.fromCharCode(bytes[at++]!)
  const parameters: number[] = []
  let value = -1
  for (; bytes[at]! >= 0x30 && bytes[at]! <= 0x3f; at++) {
    const byte = bytes[at]!
    if (byte <= 0x39) value = Math.min(Math.max(value, 0) * 10 + byte - 0x30, 0xffff)
    else {
      parameters.push(value)
      value = -1
    }
  }
  parameters.push(value)
  let intermediates = ''
  while (at < end - 1) intermediates += String.fromCharCode(bytes[at++]!)
  return { prefix, parameters, intermediates, final: String.fromCharCode(bytes[end - 1]!) }
}
