import { limits } from '../protocol/limits.ts'
import type { Request } from '../protocol/request/request.ts'
import type { Truncation } from '../protocol/result/result.ts'
import { beginningOf, endOf, firstLines, type WholeLines } from './bounds.ts'
import { FirstBytes, LastBytes, noBytes } from './bytes/ends.ts'
import { LineCutter } from './line-cutter.ts'
import { countNewlines } from './bytes/scan.ts'

export type WindowOptions = Pick<Request, 'head' | 'tail' | 'maxLines' | 'maxBytes' | 'truncate'> &
  Partial<Pick<Request, 'text'>>

type Shape = 'head' | 'tail' | 'head-tail' | 'middle'

const newline = 0x0a

/**
 * What is shown of a clean text, however long it is: `head`, then `tail`, then both limits in whole
 * lines. Keeps no more than twice the byte limit.
 */
export class Window {
  readonly #options: WindowOptions
  readonly #shape: Shape
  readonly #maxBytes: number
  readonly #maxLines: number
  #first: FirstBytes | null
  #last: LastBytes | null
  /** Null: lines stay as long as they are. */
  #cutter: LineCutter | null
  /** Of everything that was written. */
  #all = new Count()
  /** Of what comes through `head` and the line cutter. */
  #shown = new Count()

  constructor(options: WindowOptions) {
    this.#options = options
    const unlimited = options.truncate === 'none'
    this.#maxBytes = unlimited ? limits.noneMaxBytes : options.maxBytes
    this.#maxLines = Math.min(unlimited ? Infinity : options.maxLines, options.tail ?? Infinity)
    this.#shape = shapeOf(options)
    // One byte more tells whether the byte limit falls on the start of a line.
    this.#first = this.#shape === 'tail' ? null : new FirstBytes(this.#maxBytes + 1)
    this.#last = this.#shape === 'head' ? null : new LastBytes(this.#maxBytes + 1)
    // A line over a smaller byte limit is a single line over the limit and keeps its end.
    const isClean = (options.text ?? 'clean') === 'clean'
    const cutsLines = isClean && !unlimited && options.maxBytes > limits.maxLineChars
    this.#cutter = cutsLines ? new LineCutter(limits.maxLineChars, options.maxBytes) : null
  }

  /** Takes clean text in order, whole characters. The memory is free again afterwards. */
  write(bytes: Buffer): void {
    if (bytes.length === 0) return
    const before = this.#all.lines
    const newlines = countNewlines(bytes)
    this.#all.add(bytes, newlines)
    const { head } = this.#options
    const selected = head === null ? bytes : firstLines(bytes, head - before, Infinity).bytes
    if (selected.length === 0) return
    const lines = selected.length === bytes.length ? newlines : countNewlines(selected)
    // A line that is cut keeps its newline.
    this.#shown.addLines(selected, lines)
    if (this.#cutter === null) this.#keep(selected)
    else this.#cutter.write(selected, (piece) => this.#keep(piece))
  }

  /** Whether whole lines, or a part of the only one, are left out of what `render` would show now. */
  get isOver(): boolean {
    const { head } = this.#options
    return (head !== null && this.#all.total > head) || !this.#isWhole()
  }

  /** Whether anything is left out. */
  get isCut(): boolean {
    return this.isOver || this.#cutter?.hasCut === true
  }

  /** Of everything that was written; an unfinished line counts. */
  get totalLines(): number {
    return this.#all.total
  }

  /** The text as it is shown, and what is missing from it. */
  render(): { text: string; truncation: Truncation | null } {
    if (this.#cutter === null || this.#cutter.heldBytes === 0) return this.#render()
    const whole = this.clone()
    whole.#cutter?.finishLine((rest) => whole.#keep(rest))
    return whole.#render()
  }

  clone(): Window {
    const copy = new Window(this.#options)
    copy.#first = this.#first?.clone() ?? null
    copy.#last = this.#last?.clone() ?? null
    copy.#cutter = this.#cutter?.clone() ?? null
    copy.#all = this.#all.clone()
    copy.#shown = this.#shown.clone()
    return copy
  }

  #keep(bytes: Uint8Array): void {
    this.#shown.bytes += bytes.length
    this.#first?.write(bytes)
    this.#last?.write(bytes)
  }

  #lineLimit(): number {
    if (this.#shape !== 'head-tail') return this.#maxLines
    return Math.min(this.#maxLines, limits.headTailLines * 2)
  }

  #isWhole(): boolean {
    const bytes = this.#shown.bytes + (this.#cutter?.heldBytes ?? 0)
    return bytes <= this.#maxBytes && this.#shown.total <= this.#lineLimit()
  }

  #render(): { text: string; truncation: Truncation | null } {
    const cut = this.#cut()
    const text = cut.bytes.toString('utf8')
    if (!this.isCut) return { text, truncation: null }
    const outputLines = cut.ranges.reduce((lines, [from, to]) => lines + to - from + 1, 0)
    return {
      text,
      truncation: {
        direction: this.#isWhole() ? this.#lineDirection() : this.#shape,
        truncatedBy: cut.truncatedBy ?? (this.#all.total > this.#shown.total ? 'lines' : 'bytes'),
        totalLines: this.#all.total,
        totalBytes: this.#all.bytes,
        outputLines,
        outputBytes: cut.bytes.length,
        shownRanges: cut.ranges,
      },
    }
  }

  /** Which part is shown where every line is there and only long ones are cut. */
  #lineDirection(): 'head' | 'tail' {
    return this.#cutter?.keptAnEnd ? 'tail' : 'head'
  }

  #cut(): Cut {
    const whole: Whole = {
      first: this.#first?.bytes ?? noBytes,
      last: this.#last?.bytes ?? noBytes,
      totalLines: this.#shown.total,
      totalBytes: this.#shown.bytes,
    }
    if (this.#isWhole()) {
      const bytes = this.#first === null ? whole.last : whole.first
      const ranges: [number, number][] = whole.totalLines === 0 ? [] : [[1, whole.totalLines]]
      return { bytes, ranges, truncatedBy: null }
    }
    const maxLines = this.#lineLimit()
    if (this.#shape === 'tail') return cutTail(whole, maxLines, this.#maxBytes)
    if (this.#shape === 'head') return cutHead(whole, maxLines, this.#maxBytes)
    // The mark between both ends is a line too.
    return cutEnds(whole, Math.min(maxLines, this.#maxLines - 1), this.#maxLines, this.#maxBytes)
  }
}

/** `head` and `tail` say themselves which part is wanted. */
function shapeOf({ head, tail, truncate }: WindowOptions): Shape {
  if (tail !== null) return 'tail'
  if (head !== null) return 'head'
  return truncate === 'none' ? 'tail' : truncate
}

/** Bytes and lines of a text. A trailing newline is not another line. */
class Count {
  bytes = 0
  /** Newlines. */
  lines = 0
  #endsOpen = false

  /** Lines, an unfinished one included. */
  get total(): number {
    return this.lines + (this.#endsOpen ? 1 : 0)
  }

  add(bytes: Uint8Array, newlines: number): void {
    this.bytes += bytes.length
    this.addLines(bytes, newlines)
  }

  /** Without the bytes. */
  addLines(bytes: Uint8Array, newlines: number): void {
    this.lines += newlines
    this.#endsOpen = bytes.at(-1) !== newline
  }

  clone(): Count {
    const copy = new Count()
    copy.bytes = this.bytes
    copy.lines = this.lines
    copy.#endsOpen = this.#endsOpen
    return copy
  }
}

/** A text of which only the ends are there. */
interface Whole {
  first: Buffer
  last: Buffer
  totalLines: number
  totalBytes: number
}

/** What is shown of it. */
interface Cut {
  bytes: Buffer
  /** 1-based, both ends included. */
  ranges: [from: number, to: number][]
  truncatedBy: 'lines' | 'bytes' | null
}

/** The last lines within both limits; of a last line over the byte limit its end. */
function cutTail(whole: Whole, maxLines: number, maxBytes: number): Cut {
  const { bytes, lines, truncatedBy } = tailOf(whole, maxLines, maxBytes)
  return { bytes, ranges: rangesOf(whole, 0, lines), truncatedBy }
}

/** The first lines within both limits; of a first line over the byte limit its start. */
function cutHead(whole: Whole, maxLines: number, maxBytes: number): Cut {
  const { bytes, lines, truncatedBy } = beginningOf(whole.first, maxLines, maxBytes)
  return { bytes, ranges: rangesOf(whole, lines, 0), truncatedBy }
}

/** At most `keptLines` lines of both ends, with a mark between them that is not one of these. */
function cutEnds(whole: Whole, keptLines: number, maxLines: number, maxBytes: number): Cut {
  const markBytes = Buffer.byteLength(mark(whole.totalBytes, 'bytes'))
  const budget = maxBytes - markBytes
  // Without room for a mark and something on both sides of it, the end says most.
  if (keptLines < 2 || budget < markBytes) return cutTail(whole, maxLines, maxBytes)
  const most = Math.floor(keptLines / 2)
  const head = firstLines(whole.first, most, Math.floor(budget / 2))
  const tail = tailOf(whole, keptLines - most, budget - head.bytes.length)
  const lines = whole.totalLines - head.lines - tail.lines
  const bytes = whole.totalBytes - head.bytes.length - tail.bytes.length
  const text = lines > 0 ? mark(lines, 'lines') : mark(bytes, 'bytes')
  return {
    bytes: Buffer.concat([head.bytes, Buffer.from(text), tail.bytes]),
    ranges: rangesOf(whole, head.lines, tail.lines),
    truncatedBy: head.truncatedBy === 'bytes' || tail.truncatedBy === 'bytes' ? 'bytes' : 'lines',
  }
}

function mark(count: number, unit: 'lines' | 'bytes'): string {
  return `… [${count} ${unit} omitted] …\n`
}

function tailOf({ last, totalBytes }: Whole, maxLines: number, maxBytes: number): WholeLines {
  return endOf(last, maxLines, maxBytes, last.length === totalBytes)
}

function rangesOf({ totalLines }: Whole, head: number, tail: number): [number, number][] {
  const ranges: [number, number][] = []
  if (head > 0) ranges.push([1, head])
  if (tail > 0) ranges.push([totalLines - tail + 1, totalLines])
  return ranges
}
