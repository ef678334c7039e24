import type { FileHandle } from 'node:fs/promises'
import {
  type Lines,
  type Bounds,
  checkLineRange,
  type LineRange,
} from '../../protocol/result/reading.ts'
import { limits } from '../../protocol/limits.ts'
import { LastBytes } from '../bytes/ends.ts'
import { countNewlines } from '../bytes/scan.ts'
import { Filter } from '../clean/filter.ts'
import { countChars, placeAfter } from '../line-cutter.ts'
import { boundsOf } from '../bounds.ts'

/** What a long scan hears. */
export interface ScanOptions {
  /** Ends the scan; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
}

/** A place in a text: lines, and characters of the line, to pass over. */
export interface Place {
  line: number
  column: number
}

/** The start of a line from which a new filter gives the same text as one that has read the file from its start. */
interface Landmark {
  /** Where in the file it is. */
  raw: number
  /** Lines before it. */
  line: number
  /** Control characters before it that no text has. */
  dropped: number
}

const newline = 0x0a
/** So much of a file is read at once. */
const chunkBytes = 128 * 1024

/** Where the lines of a file are, as far as somebody has read it: a landmark in each chunk. */
export class LineIndex {
  /** In the order of their places. */
  readonly #landmarks: Landmark[] = [{ raw: 0, line: 0, dropped: 0 }]
  /** The size of the file when it was read to its end, and how many lines its text had. */
  end: { size: number; lines: number } | null = null

  add(mark: Landmark): void {
    if (mark.raw > this.#landmarks.at(-1)!.raw) this.#landmarks.push(mark)
  }

  /** The last landmark at or before a line. */
  before(line: number): Landmark {
    let low = 0
    let high = this.#landmarks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#landmarks[middle]!.line > line) high = middle - 1
      else low = middle
    }
    return this.#landmarks[low]!
  }
}

/** The clean text of a raw file, cleaned again by each reading from the landmark before its place. */
export class ArtifactText {
  readonly #file: FileHandle
  readonly #index: LineIndex

  /** Takes ownership of `file`. The index may be kept for another reader of the same file. */
  constructor(file: FileHandle, index = new LineIndex()) {
    this.#file = file
    this.#index = index
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  async countLines(options: ScanOptions = {}): Promise<number> {
    const { size } = await this.#file.stat()
    const { end } = this.#index
    if (end?.size === size) return end.lines
    // Nothing stands behind this place: the whole file is read before the first piece.
    await this.readOn({ line: Infinity, column: 0 }, options).next()
    return this.#index.end!.lines
  }

  /** A line at or before this one, from which reading begins with little to read again. */
  lineBefore(line: number): number {
    return this.#index.before(line).line
  }

  /**
   * A part of the text within its bounds, and the place to go on; with `tail` the end of the text.
   * Throws `MisuseError` if the range contradicts itself.
   */
  async read(range: LineRange = {}, options: ScanOptions = {}): Promise<Lines> {
    checkLineRange(range)
    if (range.tail !== undefined) return this.#readTail(range.tail, range, options)
    const line = range.line === undefined ? (range.offset ?? 0) : range.line - 1
    const place = { line, column: (range.column ?? 1) - 1 }
    const { maxLines, maxBytes, head = range.limit } = range
    return this.#readFrom(place, { maxLines, maxBytes, head }, options)
  }

  /** The text from a place on, a piece for each chunk of the file. Past the end there is none. */
  async *readOn(place: Place, { signal }: ScanOptions = {}): AsyncGenerator<Buffer<ArrayBuffer>> {
    const from = this.#index.before(place.line)
    let at: Place = { line: from.line, column: 0 }
    let pieces: Buffer[] = []
    const filter = new Filter({
      dropped: from.dropped,
      emit(text) {
        const next = placeBehind(at, text)
        if (isBehind(next, place)) pieces.push(Buffer.from(text.subarray(bytesTo(place, at, text))))
        at = next
      },
    })
    /** A landmark, as long as nothing reaches back over this byte of the text, until that is final. */
    let candidate: { mark: Landmark; end: number } | null = null
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    let { raw } = from
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, raw)
      if (bytesRead === 0) break
      // Up to the end of a line, where landmarks are.
      const used = chunk.subarray(0, bytesRead).lastIndexOf(newline) + 1 || bytesRead
      raw += used
      await filter.write(chunk.subarray(0, used))
      const { held, dropped, isAtLineStart } = filter
      const lowest = held.takeLowest()
      const { end, emitted } = held.position
      if (candidate !== null && lowest < candidate.end) candidate = null
      if (candidate !== null && emitted >= candidate.end) {
        this.#index.add(candidate.mark)
        candidate = null
      }
      if (candidate === null && isAtLineStart) {
        candidate = { mark: { raw, line: at.line + countNewlines(held.bytes), dropped }, end }
      }
      const ready = pieces
      pieces = []
      if (ready.length > 0) yield Buffer.concat(ready)
    }
    filter.end()
    this.#index.end = { size: raw, lines: linesBefore(at) }
    if (pieces.length > 0) yield Buffer.concat(pieces)
  }

  async #readFrom(place: Place, bounds: Bounds, options: ScanOptions): Promise<Lines> {
    // One character more tells that the text goes on.
    const wanted = Math.min(bounds.maxBytes ?? limits.maxBytes, limits.maxBytes) + 4
    let text = Buffer.alloc(0)
    for await (const piece of this.readOn(place, options)) {
      text = Buffer.concat([text, piece])
      if (text.length > wanted) break
    }
    const { to } = boundsOf(text, bounds)
    if (to === 0) return this.#nothing(options)
    const shown = text.subarray(0, to)
    const next = placeBehind(place, shown)
    const last = linesBefore(next)
    const isEnd = to === text.length
    return {
      text: shown.toString(),
      from: place.line + 1,
      to: last,
      // A line is passed over or not: within one, only line and column go on.
      nextOffset: isEnd ? null : last,
      line: isEnd ? null : next.line + 1,
      column: isEnd ? null : next.column + 1,
      totalLines: isEnd ? last : null,
    }
  }

  async #readTail(count: number, bounds: Bounds, options: ScanOptions): Promise<Lines> {
    const lines = await this.countLines(options)
    const maxLines = Math.min(count, bounds.maxLines ?? limits.maxLines, limits.maxLines)
    // One byte more tells whether a line begins where they begin.
    const last = new LastBytes(limits.maxBytes + 1)
    const first = { line: Math.max(lines - maxLines, 0), column: 0 }
    for await (const piece of this.readOn(first, options)) last.write(piece)
    const text = last.bytes
    const { from } = boundsOf(text, { ...bounds, tail: count })
    const shown = text.subarray(from)
    if (shown.length === 0) return this.#nothing(options)
    const totalLines = this.#index.end!.lines
    return {
      text: shown.toString(),
      from: totalLines - linesBefore(placeBehind({ line: 0, column: 0 }, shown)) + 1,
      to: totalLines,
      nextOffset: null,
      line: null,
      column: null,
      totalLines,
    }
  }

  async #nothing(options: ScanOptions): Promise<Lines> {
    const totalLines = await this.countLines(options)
    return { text: '', from: 0, to: 0, nextOffset: null, line: null, column: null, totalLines }
  }
}

function isBehind(one: Place, other: Place): boolean {
  return one.line > other.line || (one.line === other.line && one.column > other.column)
}

/** A trailing newline is not another line. */
function linesBefore({ line, column }: Place): number {
  return line + (column > 0 ? 1 : 0)
}

/** The place behind a text that begins at `at`. */
function placeBehind(at: Place, text: Buffer): Place {
  const newlines = countNewlines(text)
  if (newlines === 0) return { line: at.line, column: at.column + countChars(text) }
  const lineStart = text.lastIndexOf(newline) + 1
  return { line: at.line + newlines, column: countChars(text.subarray(lineStart)) }
}

/** How many bytes of a text that begins at `at` stand before a place in it. A line ends before its newline. */
function bytesTo(place: Place, at: Place, text: Buffer): number {
  if (!isBehind(place, at)) return 0
  let start = 0
  for (let { line } = at; line < place.line; line++) start = text.indexOf(newline, start) + 1
  const chars = place.column - (place.line === at.line ? at.column : 0)
  const found = text.indexOf(newline, start)
  return start + placeAfter(text.subarray(start, found < 0 ? text.length : found), chars)
}
