import { incomplete, replacement, sequenceAt } from '../bytes/utf8.ts'

/** What no text has, counted over one stream. */
export interface BinarySigns {
  /** Sequences that are no UTF-8. */
  invalid: number
  /** Control characters that stand in no text. */
  dropped: number
}

/**
 * After so many invalid sequences a stream is the contents of a file: no screen is drawn for it. After as
 * many control characters that no text has, nothing in it moves a cursor either.
 */
export const enoughInvalid = 100
const enoughDropped = 100

export function isBinary(invalid: number, dropped: number): boolean {
  return invalid >= enoughInvalid && dropped >= enoughDropped
}

const [first = 0, second = 0, third = 0] = replacement
/** A byte and the next one are more than two that stand for themselves if both have the same of these bits. */
const character = 1 << 10
const escape = 1 << 11
/** Of each byte: bits 0 to 7 what is written for it, 8 and 9 how many bytes: itself, U+FFFD, or none. */
const entries = Uint16Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x1b) return escape
  if (byte >= 0x80) return first | (3 << 8) | (byte >= 0xc2 && byte <= 0xf4 ? character : 0)
  const isShown = byte === 0x09 || byte === 0x0a || (byte >= 0x20 && byte < 0x7f)
  return byte | (isShown ? 1 << 8 : 0)
})
const goesOn = Uint16Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 && byte < 0xc0 ? character | escape : escape,
)

/**
 * Writes the text of binary data to `target`, which has room for three bytes for each of them, until an escape
 * sequence or an unfinished character. There is one branch for most bytes: those of random data mislead the
 * processor's prediction.
 */
export function readBinary(bytes: Uint8Array, from: number, to: number, target: Uint8Array) {
  let at = from
  let length = 0
  while (at < to) {
    const byte = bytes[at]!
    const next = at + 1 < to ? bytes[at + 1]! : 0x80
    const entry = entries[byte]!
    if ((entry & goesOn[next]!) === 0) {
      // What stands beyond its length is written over by the next byte.
      target[length] = entry
      target[length + 1] = second
      target[length + 2] = third
      length += (entry >> 8) & 3
      at++
      continue
    }
    const width = byte < 0x80 ? incomplete : sequenceAt(bytes, at, to)
    if (width === incomplete) break
    if (width < 0) {
      target[length++] = first
      target[length++] = second
      target[length++] = third
      at -= width
    } else if (byte === 0xc2 && next < 0xa0) at += width
    else for (const end = at + width; at < end; at++) target[length++] = bytes[at]!
  }
  return { at, length }
}
