import { noBytes } from '../bytes/ends.ts'

/** A line of more bytes is past editing: it is passed on at once, and the cursor does not return to it. */
export const maxEditableBytes = 8192

const newline = 0x0a
const newlineByte = Uint8Array.of(newline)
const firstCapacity = 8 * 1024
/** Past this size the finished part is passed on before there is more room. */
const usualCapacity = 256 * 1024

/** Takes finished text, in order. The memory is used again after the call. */
export type Emit = (bytes: Buffer) => void

/**
 * The end of the clean text: the last lines, which a terminal command may still reach, are held back;
 * what comes before goes to `emit`. At least `rows` whole lines and the unfinished one are held, less
 * where one of them is longer than `maxEditableBytes`.
 */
export class HeldText {
  readonly #emit: Emit
  readonly #rows: number
  #buffer = noBytes
  #end = 0
  /** The first line held has lost its start. */
  #cut = false
  #emitted = 0
  #lowest = 0

  constructor(emit: Emit, rows: number) {
    this.#rows = rows
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

  append(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from
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
    const start = from + this.bytes.subarray(from).lastIndexOf(newline) + 1
    return this.#isEditable(start, this.#end) ? this.#take(start) : null
  }

  /** Takes out the last `rows` whole lines, or those of them that can still be edited. Valid until the next call. */
  takeLines(rows: number): Uint8Array {
    return this.#take(this.#reach(this.#end, rows))
  }

  /** What is held. Valid until the next call. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end)
  }

  /** Ends the unfinished line and passes everything on: nothing reaches it any more. */
  finish(): void {
    if (this.isInLine) this.append(newlineByte, 0, 1)
    this.flush()
  }

  /** Passes everything on. */
  flush(): void {
    this.#passOn(this.#end)
  }

  #take(start: number): Uint8Array {
    const taken = this.#buffer.subarray(start, this.#end)
    this.#end = start
    this.#lowest = Math.min(this.#lowest, this.#emitted + start)
    return taken
  }

  #isEditable(start: number, end: number): boolean {
    return (start > 0 || !this.#cut) && end - start <= maxEditableBytes
  }

  /** Where the last `rows` lines before `end` begin, or those of them that can still be edited. */
  #reach(end: number, rows: number): number {
    let start = end
    for (let taken = 0; taken < rows && start > 0; taken++) {
      const lineStart = start < 2 ? 0 : this.#buffer.lastIndexOf(newline, start - 2) + 1
      if (!this.#isEditable(lineStart, start)) break
      start = lineStart
    }
    return start
  }

  #makeRoom(length: number): void {
    if (this.#end + length > usualCapacity) {
      const lineStart = this.bytes.lastIndexOf(newline) + 1
      const isEditable = this.#isEditable(lineStart, this.#end)
      this.#passOn(isEditable ? this.#reach(lineStart, this.#rows) : this.#end)
    }
    const needed = this.#end + length
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2, firstCapacity))
    this.#buffer.copy(grown, 0, 0, this.#end)
    this.#buffer = grown
  }

  /** Passes on what stands before `end`. */
  #passOn(end: number): void {
    if (end === 0) return
    const passed = this.#buffer.subarray(0, end)
    this.#cut = passed[end - 1] !== newline
    this.#emitted += end
    this.#emit(passed)
    this.#buffer.copyWithin(0, end, this.#end)
    this.#end -= end
  }
}
