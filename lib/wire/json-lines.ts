import { isUtf8 } from 'node:buffer'

const newline = 0x0a
const quote = 0x22
const backslash = 0x5c

/** Deeper than anything that is meant, and shallow enough for whoever walks through it. */
const maxDepth = 500
/** A value takes many times the memory of its two bytes in a line. */
const maxValues = 1_000_000

/** Parses a line of JSON, whose memory stays in proportion to its length. Throws where it is none. */
export function parseJsonLine(line: Uint8Array): unknown {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  if (!isUtf8(bytes)) throw new Error('The line is not valid UTF-8')
  checkSize(bytes)
  return JSON.parse(bytes.toString())
}

/** Whether a line holds nothing but spaces. */
export function isBlankLine(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

/** Throws where a line nests too deeply or holds too many values, before it is parsed. */
function checkSize(bytes: Buffer): void {
  if (bytes.length <= maxDepth) return
  let depth = 0
  let values = 1
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        at = findStringEnd(bytes, at)
        break
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > maxDepth) throw new Error(`The line nests more than ${maxDepth} levels deep`)
        break
      case 0x5d: // ]
      case 0x7d: // }
        depth--
        break
      case 0x2c: // ,
        if (++values > maxValues) throw new Error(`The line has more than ${maxValues} values`)
        break
      default:
    }
  }
}

/** The place of the quote that ends a string; the length of the line where none does. */
function findStringEnd(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let first = end
    while (bytes[first - 1] === backslash) first--
    if ((end - first) % 2 === 0) return end
  }
  return bytes.length
}

/**
 * Splits bytes at LF and nowhere else: U+2028, CR and the like belong to the line. A line longer than
 * `maxBytes` is dropped up to its LF, told by `onTooLong` as soon as it is too long, and never held.
 * Bytes given to `onLine` are valid until it returns.
 */
export function createLineReader(options: {
  maxBytes: number
  onLine(line: Uint8Array): void
  onTooLong(): void
}) {
  const { maxBytes } = options
  let parts: Uint8Array[] = []
  let lineBytes = 0

  function take(part: Uint8Array, isLast: boolean): void {
    const wasTooLong = lineBytes > maxBytes
    lineBytes += part.length
    if (lineBytes > maxBytes) {
      parts = []
      if (!wasTooLong) options.onTooLong()
    } else if (isLast && part.length === lineBytes) {
      if (lineBytes > 0) options.onLine(part)
    } else if (isLast) {
      options.onLine(Buffer.concat([...parts, part]))
    } else if (part.length > 0) {
      // The stream uses the memory of the chunk again, so the part is copied.
      parts.push(Uint8Array.prototype.slice.call(part))
    }
    if (!isLast) return
    parts = []
    lineBytes = 0
  }

  return {
    /** Bytes as they came. Lines are given out before it returns. */
    write(chunk: Uint8Array): void {
      let from = 0
      for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
        take(chunk.subarray(from, at), true)
        from = at + 1
      }
      take(chunk.subarray(from), false)
    },
    /** The end of the input: what stands behind the last LF is a line too. */
    end: () => take(new Uint8Array(), true),
  }
}
