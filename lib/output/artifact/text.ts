import type { FileHandle } from 'node:fs/promises'
import type { Lines } from '../../protocol/result/artifacts.ts'
import { limits } from '../../protocol/limits.ts'
import { type Bounds, checkLineRange, type LineRange } from '../../protocol/result/reading.ts'
import { Filter } from '../clean/filter.ts'
import { countChars, placeAfter } from '../line-cutter.ts'
import { boundsOf } from '../part.ts'
import type { FindOptions } from './search/grep.ts'
import type { Landmark } from './landmarks.ts'
import { LineIndex, type Place, type ScanOptions } from './line-index.ts'

const newline = 0x0a
const chunkBytes = 64 * 1024

/** The clean text of a raw file: any line of it is found by a seek once it was passed. */
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

  /** Lines of the text. Looks over what nobody has read yet. */
  async countLines(options: ScanOptions = {}): Promise<number> {
    for (;;) {
      const { size } = await this.#file.stat()
      const lines = this.#index.linesOf(size)
      if (lines !== null) return lines
      await this.#index.cover(this.#file, { line: Infinity, column: 0 }, options)
    }
  }

  /** The next line that matches a pattern, or the one before; null where there is none. */
  async find(options: FindOptions): Promise<{ line: number; column: number } | null> {
    return (await import('./search/grep.ts')).findInText(this, options)
  }

  /** A line at or before `line`, from which reading begins at once; both count from 0. */
  async landmarkLine(line: number, options: ScanOptions = {}): Promise<number> {
    await this.#index.cover(this.#file, { line, column: 0 }, options)
    const mark = this.#index.before({ line, column: 0 })
    return mark.line + (mark.column > 0 && mark.line < line ? 1 : 0)
  }

  /**
   * A part of the text within its bounds, and the place to go on; with `tail` the end of the text.
   * Throws `MisuseError` where the range contradicts itself.
   */
  async read(range: LineRange = {}, options: ScanOptions = {}): Promise<Lines> {
    checkLineRange(range)
    if (range.tail !== undefined) return this.#readTail(range.tail, range, options)
    const line = range.line === undefined ? (range.offset ?? 0) : range.line - 1
    const place = { line, column: (range.column ?? 1) - 1 }
    const { maxLines, maxBytes, head = range.limit } = range
    return this.#readFrom(place, { maxLines, maxBytes, head }, options)
  }

  /** The text from a place on, piece by piece. Past the end there is none. */
  async *readOn(place: Place, options: ScanOptions = {}): AsyncGenerator<Buffer> {
    if (place.line > 0 || place.column > 0) {
      await this.#index.cover(this.#file, place, options)
    }
    const from = this.#index.before(place)
    let lines = place.line - from.line
    let chars = lines === 0 ? place.column - from.column : place.column
    for await (const text of this.#clean(from, options)) {
      let at = 0
      while (lines > 0 && at < text.length) {
        const found = text.indexOf(newline, at)
        at = found < 0 ? text.length : found + 1
        if (found >= 0) lines--
      }
      if (lines === 0 && chars > 0 && at < text.length) {
        const found = text.indexOf(newline, at)
        const rest = text.subarray(at, found < 0 ? text.length : found)
        const passed = placeAfter(rest, chars)
        chars = passed < rest.length || found >= 0 ? 0 : chars - countChars(rest)
        at += passed
      }
      if (at < text.length) yield text.subarray(at)
    }
  }

  async #readFrom(place: Place, bounds: Bounds, options: ScanOptions): Promise<Lines> {
    const wanted = Math.min(bounds.maxBytes ?? limits.maxBytes, limits.maxBytes) + 4
    const maxLines = Math.min(bounds.head ?? bounds.maxLines ?? limits.maxLines, limits.maxLines)
    const pieces: Buffer[] = []
    let bytes = 0
    let lines = 0
    for await (const piece of this.readOn(place, options)) {
      const taken = piece.subarray(0, wanted - bytes)
      pieces.push(taken)
      bytes += piece.length
      lines += countNewlines(taken)
      // One byte more tells that the text goes on.
      if (bytes > wanted || lines > maxLines) break
    }
    const text = Buffer.concat(pieces)
    const { to } = boundsOf(text, bounds)
    const shown = text.subarray(0, to)
    if (shown.length === 0) return this.#nothing(options)
    const newlines = countNewlines(shown)
    const lineEnd = shown.lastIndexOf(newline) + 1
    const endsLine = lineEnd === shown.length
    const isEnd = bytes <= wanted && to === text.length
    const next = isEnd
      ? null
      : {
          line: place.line + newlines,
          column: endsLine
            ? 0
            : countChars(shown.subarray(lineEnd)) + (newlines === 0 ? place.column : 0),
        }
    const last = place.line + newlines + (endsLine ? 0 : 1)
    return {
      text: shown.toString(),
      from: place.line + 1,
      to: last,
      // A line is passed over or not: within one, only line and column go on.
      nextOffset: isEnd ? null : last,
      line: next === null ? null : next.line + 1,
      column: next === null ? null : next.column + 1,
      totalLines: isEnd ? last : null,
    }
  }

  async #readTail(count: number, bounds: Bounds, options: ScanOptions): Promise<Lines> {
    const total = await this.countLines(options)
    const maxLines = Math.min(count, bounds.maxLines ?? limits.maxLines, limits.maxLines)
    const maxBytes = Math.min(bounds.maxBytes ?? limits.maxBytes, limits.maxBytes)
    let first: Place = { line: Math.max(total - maxLines, 0), column: 0 }
    const near = this.#index.fromEnd(maxBytes + 1)
    // Of lines that are long, not all may fit.
    if (near.line >= first.line) first = near
    let text: Buffer = Buffer.alloc(0)
    let dropped = 0
    for await (const piece of this.readOn(first, options)) {
      text = Buffer.concat([text, piece])
      if (text.length <= 4 * maxBytes) continue
      const kept = text.subarray(text.length - maxBytes - 1)
      dropped += countNewlines(text.subarray(0, text.length - kept.length))
      text = kept
    }
    const { from } = boundsOf(text, { ...bounds, tail: count })
    const shown = text.subarray(from)
    if (shown.length === 0) return this.#nothing(options)
    return {
      text: shown.toString(),
      from: first.line + dropped + countNewlines(text.subarray(0, from)) + 1,
      to: total,
      nextOffset: null,
      line: null,
      column: null,
      totalLines: total,
    }
  }

  async #nothing(options: ScanOptions): Promise<Lines> {
    const totalLines = await this.countLines(options)
    return { text: '', from: 0, to: 0, nextOffset: null, line: null, column: null, totalLines }
  }

  async *#clean(from: Landmark, { signal, onRead }: ScanOptions): AsyncGenerator<Buffer> {
    let pieces: Buffer[] = []
    const filter = new Filter({ emit: (bytes) => pieces.push(Buffer.from(bytes)), at: from })
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    const size = onRead ? (await this.#file.stat()).size : 0
    for (let raw = from.raw; ;) {
      signal?.throwIfAborted()
      const { bytesRead } = await this.#file.read(chunk, 0, chunk.length, raw)
      if (bytesRead === 0) break
      raw += bytesRead
      onRead?.(raw, Math.max(raw, size))
      await filter.write(chunk.subarray(0, bytesRead))
      const ready = pieces
      pieces = []
      yield* ready
    }
    filter.end()
    yield* pieces
  }
}

function countNewlines(bytes: Buffer): number {
  let newlines = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) newlines++
  return newlines
}
