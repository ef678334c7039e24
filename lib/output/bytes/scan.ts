/*
 * Looks at four bytes at once, without a branch: the lower seven bits of a byte plus 128 - n have the highest bit
 * where the byte is n or more.
 */

/** The highest bit of each of four bytes. */
const highest = 0x80808080
const lower = 0x7f7f7f7f

/** Whether there is a control character of 7 bits other than tab and newline. */
export function hasControl(bytes: Uint8Array, from: number, to: number): boolean {
  const { words, start, end } = wordsIn(bytes, from, to)
  let found = 0
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const low = word & lower
    const isTabOrNewline = (low + 0x77777777) & ~(low + 0x75757575)
    found |= ((~(low + 0x60606060) & ~isTabOrNewline) | (low + 0x01010101)) & ~word
  }
  if ((found & highest) !== 0) return true
  return bytes.subarray(from, start).some(isControl) || bytes.subarray(end, to).some(isControl)
}

export function countNewlines(bytes: Uint8Array): number {
  const { words, start, end } = wordsIn(bytes, 0, bytes.length)
  let newlines = 0
  // Each byte of the sums counts up to 127.
  for (let from = 0; from < words.length; from += 127) {
    const to = Math.min(from + 127, words.length)
    let sums = 0
    for (let at = from; at < to; at++) {
      const word = words[at]!
      const low = word & lower
      sums += (((low + 0x76767676) & ~(low + 0x75757575) & ~word) >>> 7) & 0x01010101
    }
    const pairs = (sums & 0xff00ff) + ((sums >>> 8) & 0xff00ff)
    newlines += (pairs & 0xffff) + (pairs >>> 16)
  }
  for (let at = 0; at < start; at++) if (bytes[at] === 0x0a) newlines++
  for (let at = end; at < bytes.length; at++) if (bytes[at] === 0x0a) newlines++
  return newlines
}

/** Whether UTF-8 has one of U+0080 to U+009F, which are 0xC2 and the byte of the same number. */
export function hasEncodedControl(bytes: Uint8Array): boolean {
  let at = bytes.indexOf(0xc2)
  while (at >= 0 && at + 1 < bytes.length) {
    if ((bytes[at + 1]! & 0xe0) === 0x80) return true
    at = bytes.indexOf(0xc2, at + 1)
  }
  return false
}

/** The words of `bytes[from, to)`, and where they begin and end. */
function wordsIn(bytes: Uint8Array, from: number, to: number) {
  const start = from + (-(bytes.byteOffset + from) & 3)
  if (start >= to) return { words: new Int32Array(0), start: to, end: to }
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, (to - start) >> 2)
  return { words, start, end: start + words.length * 4 }
}

function isControl(byte: number): boolean {
  return byte < 0x20 ? byte !== 0x09 && byte !== 0x0a : byte === 0x7f
}
