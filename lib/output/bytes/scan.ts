/** What one look over a piece of text tells. */
export interface Scan {
  newlines: number
  /** A byte beyond ASCII. */
  high: boolean
  /** A control character of 7 bits other than tab and newline. */
  control: boolean
}

/** Shorter pieces are not worth a look at four bytes at once. */
const worthwhileBytes = 64
/** The highest bit of each of four bytes. */
const highest = 0x80808080

/** Looks over `bytes[from, to)`, about 1 GB/s whatever stands there. */
export function scan(bytes: Uint8Array, from: number, to: number): Scan {
  const found: Scan = { newlines: 0, high: false, control: false }
  let at = from
  if (to - from >= worthwhileBytes) {
    at += -(bytes.byteOffset + from) & 3
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >> 2)
    scanBytes(bytes, from, at, found)
    scanWords(words, found)
    at += words.length * 4
  }
  scanBytes(bytes, at, to, found)
  return found
}

export function countNewlines(bytes: Uint8Array): number {
  return scan(bytes, 0, bytes.length).newlines
}

function scanBytes(bytes: Uint8Array, from: number, to: number, found: Scan): void {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte === 0x0a) found.newlines++
    else if (byte >= 0x80) found.high = true
    else if (byte < 0x20 ? byte !== 0x09 : byte === 0x7f) found.control = true
  }
}

/**
 * Four bytes at once, without a branch: the lower seven bits of a byte plus 128 - n have the highest bit where
 * the byte is n or more. Each byte of the sums counts up to 127.
 */
function scanWords(words: Int32Array, found: Scan): void {
  let high = 0
  let control = 0
  for (let from = 0; from < words.length; from += 127) {
    const to = Math.min(from + 127, words.length)
    let sums = 0
    for (let at = from; at < to; at++) {
      const word = words[at]!
      const low = word & 0x7f7f7f7f
      const from9 = low + 0x77777777
      const from10 = low + 0x76767676
      const from11 = low + 0x75757575
      const from32 = low + 0x60606060
      const from127 = low + 0x01010101
      high |= word
      control |= ((~from32 & ~(from9 & ~from11)) | from127) & ~word
      sums += ((from10 & ~from11 & ~word) >>> 7) & 0x01010101
    }
    const pairs = (sums & 0xff00ff) + ((sums >>> 8) & 0xff00ff)
    found.newlines += (pairs & 0xffff) + (pairs >>> 16)
  }
  if ((high & highest) !== 0) found.high = true
  if ((control & highest) !== 0) found.control = true
}

/** Whether UTF-8 has one of U+0080 to U+009F, which are 0xC2 and the byte of the same number. */
export function hasEncodedControl(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at + 1 < to; at++) {
    if (bytes[at] === 0xc2 && (bytes[at + 1]! & 0xe0) === 0x80) return true
  }
  return false
}
