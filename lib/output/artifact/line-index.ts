import type { FileHandle } from 'node:fs/promises'
import { Filter, type Restart } from '../clean/filter.ts'
import { countChars } from '../line-cutter.ts'
import { createScanner } from '../bytes/scan.ts'

/** A place of a raw file from which its text can be read on, and where in the text that is. */
export interface Landmark extends Omit<Restart, 'unread'> {
  raw: number
  /** Lines and bytes of text before it, and characters before it in its line. */
  line: number
  text: number
  column: number
}

/** What a long scan tells and hears. */
export interface ScanOptions {
  /** Ends the scan; the promise rejects with its reason. */
  signal?: AbortSignal | undefined
  /** Bytes read so far, of so many. */
  onProgress?: ((done: number, total: number) => void) | undefined
}

/** A place in a text: lines, and characters of the line, to pass over. */
export interface Place {
  line: number
  column: number
}

function isBehind(one: Place, other: Place): boolean {
  return one.line > other.line || (one.line === other.line && one.column > other.column)
}

const start: Landmark = {
  raw: 0,
  line: 0,
  text: 0,
  column: 0,
  isInLine: false,
  invalid: 0,
  dropped: 0,
}
/** So much is read again at most, for any line. */
const spacingBytes = 256 * 1024

/**
 * Where the lines of a file are: a landmark in every 256 KiB, found by cleaning the file once, as far as
 * somebody asked for. Text before a landmark is final: nothing behind it reaches back over it.
 */
export class LineIndex {
  readonly #landmarks: Landmark[] = [start]
  /** Bytes of the file that are looked over, up to a landmark. */
  #end: { size: number; lines: number; text: number } | null = null
  #growing: Promise<void> = Promise.resolve()

  /** The last landmark at or before a place. */
  before(place: Place): Landmark {
    return this.#last((mark) => !isBehind(mark, place))
  }

  /** The last landmark with at least so many bytes of text behind it, of a text that was read to its end. */
  fromEnd(bytes: number): Landmark {
    const text = (this.#end?.text ?? 0) - bytes
    return this.#last((mark) => mark.text <= text)
  }

  /** Lines of the whole text where the file was read to its end and has not grown since. */
  linesOf(size: number): number | null {
    return this.#end?.size === size ? this.#end.lines : null
  }

  /** Looks over the file until there is a landmark behind a place, or its end. */
  async cover(file: FileHandle, place: Place, options: ScanOptions = {}): Promise<void> {
    // One scan at a time: the second one finds what the first one has learnt.
    const before = this.#growing
    let done = () => {}
    this.#growing = new Promise((resolve) => {
      done = resolve
    })
    await before
    try {
      await this.#scan(file, place, options)
    } finally {
      done()
    }
  }

  async #scan(file: FileHandle, place: Place, { signal, onProgress }: ScanOptions): Promise<void> {
    const { size } = await file.stat()
    const from = this.#landmarks.at(-1)!
    if (isBehind(from, place) || this.#end?.size === size) return
    const counter = new Counter(from)
    const filter = new Filter({ emit: (bytes) => counter.add(bytes), scan: counter.scan, at: from })
    /** Possible landmarks: nothing has reached back over them yet. */
    let candidates: Landmark[] = []
    const chunk = Buffer.allocUnsafeSlow(spacingBytes)
    let raw = from.raw
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead } = await file.read(chunk, 0, chunk.length, raw)
      if (bytesRead === 0) break
      raw += bytesRead
      await filter.write(chunk.subarray(0, bytesRead))
      const lowest = from.text + filter.held.takeLowest()
      candidates = candidates.filter(({ text }) => text <= lowest)
      const final = from.text + filter.held.position.emitted
      while (candidates.length > 0 && candidates[0]!.text <= final) {
        this.#landmarks.push(candidates.shift()!)
      }
      onProgress?.(raw, size)
      if (isBehind(this.#landmarks.at(-1)!, place)) return
      const { restart } = filter
      if (restart === null) continue
      const { unread, ...others } = restart
      const position = counter.with(filter.held.bytes)
      candidates.push({ ...position, ...others, raw: raw - unread })
    }
    filter.end()
    this.#end = { size: raw, lines: counter.lines, text: counter.text }
  }

  #last(isBefore: (mark: Landmark) => boolean): Landmark {
    let low = 0
    let high = this.#landmarks.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (isBefore(this.#landmarks[middle]!)) low = middle
      else high = middle - 1
    }
    return this.#landmarks[low]!
  }
}

/** Counts lines, bytes, and the characters of the last line. */
class Counter {
  readonly scan = createScanner()
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
    const { newlines } = this.scan(bytes, 0, bytes.length)
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
