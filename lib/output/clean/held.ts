import { scan } from '../bytes/scan.ts'

/** A line of more bytes is past editing: it is passed on at once, and the cursor does not return to it. */
export const maxEditableBytes = 8192

const newline = 0x0a
const newlineByte = Uint8Array.of(newline)
const nothing = Buffer.alloc(0)
const firstCapacity = 8 * 1024
/** Text in longer pieces is passed on without a copy but for its last lines. */
const directBytes = 16 * 1024
/** Shorter pieces are gathered up to so much before the finished part is passed on. */
const gatheredBytes = 128 * 1024

/** Takes finished text, in order, with its newlines where they were counted. The memory is used again after the call. */
export type Emit = (bytes: Uint8Array, newlines?: number) => void

/**
 * The end of the clean text: the last lines, which a terminal command may still reach, are held back;
 * what comes before goes to `emit`. At least `rows` whole lines and the unfinished one are held, less
 * where one of them is longer than `maxEditableBytes`.
 */
export class HeldText {
  readonly #emit: Emit
  readonly #rows: number
  #buffer = nothing
  #end = 0
  /** The first line held has lost its start. */
  #cut: boolean
  #emitted = 0
  #lowest = 0

  /** `startsInLine`: what comes first goes on in a line whose beginning is past editing. */
  constructor(emit: Emit, rows: number, startsInLine: boolean) {
    this.#rows = rows
    this.#cut = startsInLine
    this.#emit = emit
  }

  /** How many bytes of text there are, of which the first `emitted` are final. */
  get position(): { end: number; emitted: number } {
    return { end: this.#emitted + this.#end, emitted: this.#emitted }
  }

  /** Whether the last line is unfinished. */
  get isInLine(): boolean {
    return this.#end === 0 ? this.#cut : this.#buffer[this.#end - 1] !== newline
  }

  /** The lowest place that was taken out since the last call. */
  takeLowest(): number {
    const lowest = this.#lowest
    this.#lowest = this.position.end
    return lowest
  }

  /** `newlines`: how many there are, where they were counted. */
  append(bytes: Uint8Array, from: number, to: number, newlines?: number): void {
    const length = to - from
    if (length >= directBytes) {
      const reachable = this.#reachable(bytes, from, to)
      if (reachable !== null) {
        const keep = reachable.start
        this.flush()
        if (keep > from) {
          this.#pass(bytes.subarray(from, keep), newlines && newlines - reachable.newlines)
        }
        this.#cut = keep > from && bytes[keep - 1] !== newline
        this.#reserve(to - keep)
        this.#buffer.set(bytes.subarray(keep, to))
        this.#end = to - keep
        return
      }
    }
    if (this.#end + length > this.#buffer.length) this.#makeRoom(length)
    if (length < 32) {
      for (let at = from; at < to; at++) this.#buffer[this.#end++] = bytes[at]!
    } else {
      this.#buffer.set(bytes.subarray(from, to), this.#end)
      this.#end += length
    }
  }

  /** Takes the unfinished line out, or answers null where it is past editing. Valid until the next call. */
  takeUnfinished(): Uint8Array | null {
    // No further back than a line may be long.
    const from = Math.max(this.#end - maxEditableBytes - 1, 0)
    const start = from + this.#buffer.subarray(from, this.#end).lastIndexOf(newline) + 1
    if ((start === 0 && this.#cut) || this.#end - start > maxEditableBytes) return null
    const line = this.#buffer.subarray(start, this.#end)
    this.#take(start)
    return line
  }

  /** Takes out the last `rows` whole lines, or those of them that can still be edited. Valid until the next call. */
  takeLines(rows: number): Uint8Array {
    let start = this.#end
    for (let taken = 0; taken < rows && start > 0; taken++) {
      const lineStart = start < 2 ? 0 : this.#buffer.lastIndexOf(newline, start - 2) + 1
      if ((lineStart === 0 && this.#cut) || start - lineStart > maxEditableBytes) break
      start = lineStart
    }
    const lines = this.#buffer.subarray(start, this.#end)
    this.#take(start)
    return lines
  }

  /** What is held. Valid until the next call. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#end)
  }

  /** Ends the unfinished line and passes everything on: nothing reaches it any more. */
  finish(): void {
    if (this.isInLine) this.append(newlineByte, 0, 1)
    this.flush()
  }

  /** Passes everything on. */
  flush(): void {
    if (this.#end === 0) return
    const bytes = this.#buffer.subarray(0, this.#end)
    this.#cut = this.#buffer[this.#end - 1] !== newline
    this.#end = 0
    this.#pass(bytes)
  }

  #pass(bytes: Uint8Array, newlines?: number): void {
    this.#emitted += bytes.length
    this.#emit(bytes, newlines)
  }

  #take(start: number): void {
    this.#end = start
    this.#lowest = Math.min(this.#lowest, this.#emitted + start)
  }

  /**
   * Where the lines within reach begin in `bytes[from, to)`, and how many newlines they have: `rows` whole
   * lines and the unfinished one, or fewer after a line that is too long. Null: not within these bytes.
   */
  #reachable(
    bytes: Uint8Array,
    from: number,
    to: number,
  ): { start: number; newlines: number } | null {
    const near = to - 8192
    if (near >= from) {
      const { newlines } = scan(bytes, near, to)
      if (newlines > this.#rows) {
        return { start: bytes.indexOf(newline, near) + 1, newlines: newlines - 1 }
      }
    }
    let lineEnd = to
    for (let lines = 0; lines <= this.#rows; lines++) {
      const lineStart = lineEnd === from ? 0 : bytes.lastIndexOf(newline, lineEnd - 1) + 1
      if (lineEnd - Math.max(lineStart, from) > maxEditableBytes) {
        return lines === 0
          ? { start: to, newlines: 0 }
          : { start: lineEnd + 1, newlines: lines - 1 }
      }
      if (lineStart <= from) return null
      lineEnd = lineStart - 1
    }
    return { start: lineEnd + 1, newlines: this.#rows }
  }

  #makeRoom(length: number): void {
    if (length <= firstCapacity && this.#buffer.length === 0) {
      this.#grow(firstCapacity)
      return
    }
    if (this.#buffer.length < gatheredBytes) {
      this.#grow(Math.max(gatheredBytes, this.#end + length))
      return
    }
    let keep = this.#reachable(this.#buffer, 0, this.#end)?.start ?? 0
    if (keep === 0 && this.#cut) {
      const firstNewline = this.#buffer.subarray(0, this.#end).indexOf(newline)
      keep = firstNewline < 0 ? this.#end : firstNewline + 1
    }
    if (keep > 0) {
      this.#pass(this.#buffer.subarray(0, keep))
      this.#cut = this.#buffer[keep - 1] !== newline
      this.#buffer.copyWithin(0, keep, this.#end)
      this.#end -= keep
    }
    this.#reserve(this.#end + length)
  }

  /** Room for so many bytes, and as much again, so that moving them stays cheap. */
  #reserve(bytes: number): void {
    if (bytes * 2 <= this.#buffer.length) return
    this.#grow(bytes * 4)
  }

  #grow(capacity: number): void {
    const grown = Buffer.allocUnsafeSlow(capacity)
    this.#buffer.copy(grown, 0, 0, this.#end)
    this.#buffer = grown
  }
}
