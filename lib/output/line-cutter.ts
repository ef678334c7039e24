import { isAscii } from 'node:buffer'
import { FirstBytes, LastBytes } from './bytes/ends.ts'
import type { Emit } from './clean/held.ts'
import { characterStart } from './bytes/utf8.ts'

const newline = 0x0a
const newlineByte = Buffer.of(newline)

/**
 * Cuts the lines of a text that comes in any pieces to `maxChars` characters (code points), with a mark
 * that says how many are missing: a long line keeps its first ones, and one that alone is over
 * `maxBytes` its last ones. The unfinished line is held back until it ends.
 */
export class LineCutter {
  readonly #maxChars: number
  readonly #maxBytes: number
  /** The unfinished line: both ends of it, and its size. */
  #first: FirstBytes
  #last: LastBytes
  #bytes = 0
  #chars = 0
  #hasCut = false
  #keptAnEnd = false

  constructor(maxChars: number, maxBytes: number) {
    this.#maxChars = maxChars
    this.#maxBytes = maxBytes
    this.#first = new FirstBytes(maxChars * 4)
    this.#last = new LastBytes(maxChars * 4)
  }

  /** Whether any line was cut so far, or the unfinished one will be. */
  get hasCut(): boolean {
    return this.#hasCut || this.#chars > this.#maxChars
  }

  /** Whether a line that was cut has kept its end, not its beginning. */
  get keptAnEnd(): boolean {
    return this.#keptAnEnd
  }

  /** Bytes of the unfinished line that are held back; where nothing is cut, all of it. */
  get heldBytes(): number {
    return this.#first.length
  }

  write(bytes: Buffer, emit: Emit): void {
    for (let at = 0; at < bytes.length;) {
      const shortEnd = this.#bytes === 0 ? endOfShort(bytes, at, this.#maxChars) : at
      if (shortEnd > at) emit(bytes.subarray(at, shortEnd))
      const found = bytes.indexOf(newline, shortEnd)
      this.#hold(bytes.subarray(shortEnd, found < 0 ? bytes.length : found))
      if (found < 0) return
      this.finishLine(emit)
      emit(newlineByte)
      at = found + 1
    }
  }

  /** Emits the unfinished line as it stands. */
  finishLine(emit: Emit): void {
    if (this.#bytes === 0) return
    if (this.#chars <= this.#maxChars) emit(this.#first.bytes)
    else {
      this.#hasCut = true
      const omitted = Buffer.from(`… [${this.#chars - this.#maxChars} chars omitted]`)
      if (this.#bytes > this.#maxBytes) {
        this.#keptAnEnd = true
        emit(omitted)
        emit(lastChars(this.#last.bytes, this.#maxChars))
      } else {
        const first = this.#first.bytes
        emit(first.subarray(0, placeAfter(first, this.#maxChars)))
        emit(omitted)
      }
    }
    this.#first.clear()
    this.#last.clear()
    this.#bytes = 0
    this.#chars = 0
  }

  clone(): LineCutter {
    const copy = new LineCutter(this.#maxChars, this.#maxBytes)
    copy.#first = this.#first.clone()
    copy.#last = this.#last.clone()
    copy.#bytes = this.#bytes
    copy.#chars = this.#chars
    copy.#hasCut = this.#hasCut
    copy.#keptAnEnd = this.#keptAnEnd
    return copy
  }

  #hold(bytes: Buffer): void {
    this.#first.write(bytes)
    this.#last.write(bytes)
    this.#bytes += bytes.length
    this.#chars += countChars(bytes)
  }
}

/** The end of the whole lines from `from` on that have at most `maxBytes` each. */
function endOfShort(bytes: Buffer, from: number, maxBytes: number): number {
  let end = from
  for (;;) {
    // One look tells it of all lines that end within so few bytes.
    const next = bytes.lastIndexOf(newline, end + maxBytes) + 1
    if (next <= end) return end
    end = next
  }
}

/** Characters of a valid UTF-8 text. */
export function countChars(bytes: Buffer): number {
  if (bytes.length > 256 && isAscii(bytes)) return bytes.length
  let chars = bytes.length
  for (let at = 0; at < bytes.length; at++) if ((bytes[at]! & 0xc0) === 0x80) chars--
  return chars
}

/** The place after the first `count` characters, or the end. */
export function placeAfter(bytes: Buffer, count: number): number {
  let chars = 0
  for (let place = 0; place < bytes.length; place++) {
    if ((bytes[place]! & 0xc0) !== 0x80 && chars++ === count) return place
  }
  return bytes.length
}

/** The last `count` characters of a text whose first one may have lost its beginning. */
function lastChars(bytes: Buffer, count: number): Buffer {
  const whole = bytes.subarray(characterStart(bytes, 0))
  return whole.subarray(placeAfter(whole, countChars(whole) - count))
}
