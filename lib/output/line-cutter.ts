import { isAscii } from 'node:buffer'
import type { Emit } from './held.ts'

const newline = 0x0a

/**
 * Cuts the lines of a text that comes in any pieces to their first `maxChars` characters (code points),
 * with a mark that says how many are missing. Pieces without a long line pass as they are.
 */
export class LineCutter {
  readonly #maxChars: number
  /** Of the unfinished line: characters kept, and left out. */
  #kept = 0
  #omitted = 0
  #hasCut = false

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  /** Whether any line was cut so far. */
  get hasCut(): boolean {
    return this.#hasCut
  }

  write(bytes: Buffer, emit: Emit): void {
    if (this.#isShort(bytes)) {
      const lineStart = bytes.lastIndexOf(newline) + 1
      const chars = countChars(bytes, lineStart, bytes.length)
      this.#kept = lineStart === 0 ? this.#kept + chars : chars
      emit(bytes)
      return
    }
    let keepFrom = 0
    for (let at = 0; at < bytes.length;) {
      const found = bytes.indexOf(newline, at)
      const lineEnd = found < 0 ? bytes.length : found
      const room = this.#maxChars - this.#kept
      if (this.#omitted > 0 || lineEnd - at > room) {
        const cut = placeAfter(bytes, at, lineEnd, room)
        this.#kept += cut.chars
        if (cut.place < lineEnd) {
          this.#omitted += countChars(bytes, cut.place, lineEnd)
          this.#hasCut = true
          if (cut.place > keepFrom) emit(bytes.subarray(keepFrom, cut.place))
          keepFrom = lineEnd
        }
      } else this.#kept += countChars(bytes, at, lineEnd)
      if (found < 0) break
      this.finishLine(emit)
      at = lineEnd + 1
    }
    if (keepFrom < bytes.length) emit(bytes.subarray(keepFrom))
  }

  /** Puts the mark behind a cut line that ends here. */
  finishLine(emit: Emit): void {
    if (this.#omitted > 0) emit(Buffer.from(`… [${this.#omitted} chars omitted]`))
    this.#omitted = 0
    this.#kept = 0
  }

  clone(): LineCutter {
    const copy = new LineCutter(this.#maxChars)
    copy.#kept = this.#kept
    copy.#omitted = this.#omitted
    copy.#hasCut = this.#hasCut
    return copy
  }

  /** Whether no line can be too long, by its bytes. Looks at few places: one in `maxChars` bytes. */
  #isShort(bytes: Buffer): boolean {
    if (this.#omitted > 0) return false
    let at = -1 - this.#kept
    while (at + this.#maxChars + 1 < bytes.length) {
      const next = bytes.lastIndexOf(newline, at + this.#maxChars + 1)
      if (next <= at || next < 0) return false
      at = next
    }
    return true
  }
}

function countChars(bytes: Buffer, from: number, to: number): number {
  if (to - from > 256 && isAscii(bytes.subarray(from, to))) return to - from
  let chars = 0
  for (let at = from; at < to; at++) if ((bytes[at]! & 0xc0) !== 0x80) chars++
  return chars
}

/** The place after at most `count` characters from `from` on. */
function placeAfter(bytes: Buffer, from: number, to: number, count: number) {
  let chars = 0
  let place = from
  for (; place < to; place++) {
    if ((bytes[place]! & 0xc0) === 0x80) continue
    if (chars === count) break
    chars++
  }
  return { place, chars }
}
