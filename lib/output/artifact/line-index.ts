import { createDeferred } from '../../protocol/deferred.ts'
import type { FileHandle } from 'node:fs/promises'
import { Filter } from '../clean/filter.ts'
import { countChars } from '../line-cutter.ts'
import { countNewlines } from '../bytes/scan.ts'
import { type Landmark, Landmarks } from './landmarks.ts'

/** What a long scan tells and hears. */
export interface ScanOptions {
  /** Ends the scan; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
  /** Bytes in which lines were looked for so far, of so many. */
  onProgress?: ((done: number, total: number) => void) | undefined
  /** How much of the text itself was passed so far, of how much: bytes of its file, or lines. */
  onRead?: ((done: number, total: number) => void) | undefined
}

/** A place in a text: lines, and characters of the line, to pass over. */
export interface Place {
  line: number
  column: number
}

function isBehind(one: Place, other: Place): boolean {
  return one.line > other.line || (one.line === other.line && one.column > other.column)
}

/** So much is read again at most, for any line. */
const spacingBytes = 64 * 1024
/** So much of a file is read at once. */
const chunkBytes = 4 * spacingBytes

/**
 * Where the lines of a file are: a landmark in every 64 KiB, found by cleaning the file once, as far as
 * somebody asked for. Text before a landmark is final: nothing behind it reaches back over it.
 */
export class LineIndex {
  readonly #landmarks = new Landmarks()
  /** Where the whole file was read: its size, and lines and bytes of its text. */
  #end: { size: number; lines: number; text: number } | null = null
  #growing: Promise<void> = Promise.resolve()

  /** The last landmark at or before a place. */
  before(place: Place): Landmark {
    return this.#landmarks.findLast((mark) => !isBehind(mark, place))
  }

  /** The last landmark with at least so many bytes of text behind it, of a text that was read to its end. */
  fromEnd(bytes: number): Landmark {
    const text = (this.#end?.text ?? 0) - bytes
    return this.#landmarks.findLast((mark) => mark.text <= text)
  }

  /** Lines of the whole text where the file was read to its end and has not grown since. */
  linesOf(size: number): number | null {
    return this.#end?.size === size ? this.#end.lines : null
  }

  /** Looks over the file until there is a landmark behind a place, or its end. */
  async cover(file: FileHandle, place: Place, options: ScanOptions = {}): Promise<void> {
    // One scan at a time: the second one finds what the first one has learnt.
    const before = this.#growing
    const { promise, resolve: done } = createDeferred()
    this.#growing = promise
    await before
    try {
      await this.#scan(file, place, options)
    } finally {
      done()
    }
  }

  async #scan(file: FileHandle, place: Place, { signal, onProgress }: ScanOptions): Promise<void> {
    const { size } = await file.stat()
    const from = this.#landmarks.last
    if (isBehind(from, place) || this.#end?.size === size) return
    await this.#lookOver(file, from, place, { signal, onProgress, size })
  }

  async #lookOver(
    file: FileHandle,
    from: Landmark,
    place: Place,
    { signal, onProgress, size }: ScanOptions & { size: number },
  ): Promise<void> {
    const counter = new Counter(from)
    const filter = new Filter({ emit: (bytes) => counter.add(bytes), at: from })
    /** Possible landmarks: nothing has reached back over them yet. */
    let candidates: Landmark[] = []
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    let raw = from.raw
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead } = await file.read(chunk, 0, chunk.length, raw)
      if (bytesRead === 0) break
      for (let at = 0; at < bytesRead; at += spacingBytes) {
        const piece = chunk.subarray(at, Math.min(at + spacingBytes, bytesRead))
        raw += piece.length
        const drawing = filter.write(piece)
        if (drawing !== undefined) await drawing
        const lowest = from.text + filter.held.takeLowest()
        candidates = candidates.filter(({ text }) => text <= lowest)
        const final = from.text + filter.held.position.emitted
        while (candidates.length > 0 && candidates[0]!.text <= final) {
          this.#landmarks.add(candidates.shift()!)
        }
        const { restart } = filter
        if (restart === null) continue
        const { unread, ...others } = restart
        const position = counter.with(filter.held.bytes)
        candidates.push({ ...position, ...others, raw: raw - unread })
      }
      onProgress?.(raw, size)
      if (isBehind(this.#landmarks.last, place)) return
    }
    filter.end()
    this.#end = { size: raw, lines: counter.lines, text: counter.text }
  }
}

/** Counts lines, bytes, and the characters of the last line. */
class Counter {
  text: number
  #line: number
  #column: number

  constructor({ line, text, column }: Landmark) {
    this.#line = line
    this.text = text
    this.#column = column
  }

  add(bytes: Uint8Array): void {
    const { line, text, column } = this.with(bytes)
    this.#line = line
    this.text = text
    this.#column = column
  }

  /** Where the text would stand after these bytes. */
  with(bytes: Uint8Array): { line: number; text: number; column: number } {
    const newlines = countNewlines(bytes)
    const lineStart = newlines === 0 ? 0 : bytes.lastIndexOf(0x0a) + 1
    const chars = countChars(
      Buffer.from(bytes.buffer, bytes.byteOffset + lineStart, bytes.length - lineStart),
    )
    return {
      line: this.#line + newlines,
      text: this.text + bytes.length,
      column: newlines === 0 ? this.#column + chars : chars,
    }
  }

  /** A trailing newline is not another line. */
  get lines(): number {
    return this.#line + (this.#column > 0 ? 1 : 0)
  }
}
