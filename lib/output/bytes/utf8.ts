/** U+FFFD in UTF-8. */
export const replacement = Uint8Array.of(0xef, 0xbf, 0xbd)

/** What a look at one UTF-8 sequence may find besides a valid one, whose length is positive. */
export const incomplete = 0

/**
 * The sequence at `bytes[at]` (a byte beyond ASCII), seen up to `end`: its length where it is valid;
 * `incomplete` (0) where more bytes may complete it; else minus the number of bytes that one U+FFFD
 * stands for (the longest start of a valid sequence, as the Encoding Standard counts).
 */
export function sequenceAt(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!
  if (lead < 0xc2 || lead > 0xf4) return -1
  const isCommon = lead >= 0xe1 && lead <= 0xec && at + 2 < end
  if (isCommon && (bytes[at + 1]! & bytes[at + 2]! & 0xc0) === 0x80) {
    if (((bytes[at + 1]! | bytes[at + 2]!) & 0x40) === 0) return 3
  }
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  // No overlong forms, no surrogates, nothing above U+10FFFF: all told by the second byte.
  let low = 0x80
  let high = 0xbf
  if (lead === 0xe0) low = 0xa0
  else if (lead === 0xed) high = 0x9f
  else if (lead === 0xf0) low = 0x90
  else if (lead === 0xf4) high = 0x8f
  for (let offset = 1; offset < length; offset++) {
    if (at + offset >= end) return incomplete
    const byte = bytes[at + offset]!
    if (byte < low || byte > high) return -offset
    low = 0x80
    high = 0xbf
  }
  return length
}

/** The code point of a valid sequence. */
export function codePointAt(bytes: Uint8Array, at: number, length: number): number {
  const lead = bytes[at]!
  if (length === 1) return lead
  if (length === 2) return ((lead & 0x1f) << 6) | (bytes[at + 1]! & 0x3f)
  const two = ((bytes[at + 1]! & 0x3f) << 6) | (bytes[at + 2]! & 0x3f)
  if (length === 3) return ((lead & 0x0f) << 12) | two
  return ((lead & 0x07) << 18) | (two << 6) | (bytes[at + 3]! & 0x3f)
}

/** Writes a code point at `bytes[at]`; answers the place after it. */
export function encodeInto(bytes: Uint8Array, at: number, code: number): number {
  if (code < 0x80) {
    bytes[at] = code
    return at + 1
  }
  if (code < 0x800) {
    bytes[at] = 0xc0 | (code >> 6)
    bytes[at + 1] = 0x80 | (code & 0x3f)
    return at + 2
  }
  if (code < 0x10000) {
    bytes[at] = 0xe0 | (code >> 12)
    bytes[at + 1] = 0x80 | ((code >> 6) & 0x3f)
    bytes[at + 2] = 0x80 | (code & 0x3f)
    return at + 3
  }
  bytes[at] = 0xf0 | (code >> 18)
  bytes[at + 1] = 0x80 | ((code >> 12) & 0x3f)
  bytes[at + 2] = 0x80 | ((code >> 6) & 0x3f)
  bytes[at + 3] = 0x80 | (code & 0x3f)
  return at + 4
}

/** How many bytes at the end of `bytes[from, to)` begin a sequence that is not complete yet: 0 to 3. */
export function incompleteTail(bytes: Uint8Array, from: number, to: number): number {
  for (let back = 1; back <= 3 && to - back >= from; back++) {
    const byte = bytes[to - back]!
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return sequenceAt(bytes, to - back, to) === incomplete ? back : 0
  }
  return 0
}

/** The first place at or after `at` where a character begins. */
export function characterStart(bytes: Uint8Array, at: number): number {
  let start = at
  while (start < bytes.length && start - at < 3 && (bytes[start]! & 0xc0) === 0x80) start++
  return start
}
