const newline = 0x0a

export interface LineReader {
  /** Bytes as they came. Lines are given out before it returns. */
  write(chunk: Uint8Array): void
  /** The end of the input: what stands behind the last LF is a line too. */
  end(): void
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
}): LineReader {
  const { maxBytes } = options
  let parts: Uint8Array[] = []
  let heldBytes = 0
  let dropping = false

  function hold(part: Uint8Array): void {
    if (dropping || part.length === 0) return
    heldBytes += part.length
    if (heldBytes > maxBytes) {
      dropping = true
      parts = []
      options.onTooLong()
      return
    }
    // The chunk's memory is the stream's.
    parts.push(Uint8Array.prototype.slice.call(part))
  }

  function give(): void {
    const held = parts
    const wasDropped = dropping
    parts = []
    heldBytes = 0
    dropping = false
    if (!wasDropped && held.length > 0) {
      options.onLine(held.length === 1 ? (held[0] as Uint8Array) : Buffer.concat(held))
    }
  }

  return {
    write(chunk) {
      let from = 0
      for (;;) {
        const at = chunk.indexOf(newline, from)
        if (at < 0) break
        const isWhole = heldBytes === 0 && at - from <= maxBytes
        if (isWhole && at > from) options.onLine(chunk.subarray(from, at))
        if (!isWhole) {
          hold(chunk.subarray(from, at))
          give()
        }
        from = at + 1
      }
      hold(chunk.subarray(from))
    },
    end: give,
  }
}
