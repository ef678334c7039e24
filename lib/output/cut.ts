import { characterStart } from './bytes/utf8.ts'

const newline = 0x0a

/** A text of which only the ends are there. */
export interface Whole {
  first: Buffer
  last: Buffer
  totalLines: number
  totalBytes: number
}

/** What is shown of it. */
export interface Cut {
  bytes: Buffer
  /** 1-based, both ends included. */
  ranges: [from: number, to: number][]
  truncatedBy: 'lines' | 'bytes' | null
}

/** A part of whole lines at one end. */
interface Part {
  bytes: Buffer
  lines: number
  /** The limit that ended it. */
  truncatedBy: 'lines' | 'bytes'
}

/** The last lines within both limits; of a last line over the byte limit its end. */
export function cutTail(whole: Whole, maxLines: number, maxBytes: number): Cut {
  const part = tailOf(whole, maxLines, maxBytes)
  const ranges: [number, number][] =
    part.lines === 0 ? [] : [[whole.totalLines - part.lines + 1, whole.totalLines]]
  return { bytes: part.bytes, ranges, truncatedBy: part.truncatedBy }
}

/** The first lines within both limits; of a first line over the byte limit its start. */
export function cutHead(whole: Whole, maxLines: number, maxBytes: number): Cut {
  const part = headOf(whole, maxLines, maxBytes)
  if (part.lines > 0 || maxLines === 0) {
    return {
      bytes: part.bytes,
      ranges: part.lines === 0 ? [] : [[1, part.lines]],
      truncatedBy: part.truncatedBy,
    }
  }
  let end = Math.min(maxBytes, whole.first.length)
  while (end > 0 && end < whole.first.length && (whole.first[end]! & 0xc0) === 0x80) end--
  return {
    bytes: whole.first.subarray(0, end),
    ranges: end === 0 ? [] : [[1, 1]],
    truncatedBy: 'bytes',
  }
}

/** At most `keptLines` lines of both ends, with a mark between them that is not one of these. */
export function cutEnds(
  whole: Whole,
  headLines: number,
  keptLines: number,
  maxLines: number,
  maxBytes: number,
): Cut {
  const markBytes = Buffer.byteLength(mark(whole.totalBytes, 'bytes'))
  const budget = maxBytes - markBytes
  // Without room for a mark and something on both sides of it, the end says most.
  if (keptLines < 2 || budget < markBytes) return cutTail(whole, maxLines, maxBytes)
  const head = headOf(whole, Math.min(headLines, Math.floor(keptLines / 2)), Math.floor(budget / 2))
  const tail = tailOf(
    whole,
    keptLines - Math.min(headLines, Math.floor(keptLines / 2)),
    budget - head.bytes.length,
  )
  const omitted = whole.totalLines - head.lines - tail.lines
  const text =
    omitted > 0
      ? mark(omitted, 'lines')
      : mark(whole.totalBytes - head.bytes.length - tail.bytes.length, 'bytes')
  const ranges: [number, number][] = []
  if (head.lines > 0) ranges.push([1, head.lines])
  if (tail.lines > 0) ranges.push([whole.totalLines - tail.lines + 1, whole.totalLines])
  return {
    bytes: Buffer.concat([head.bytes, Buffer.from(text), tail.bytes]),
    ranges,
    truncatedBy: head.truncatedBy === 'bytes' || tail.truncatedBy === 'bytes' ? 'bytes' : 'lines',
  }
}

function mark(count: number, unit: 'lines' | 'bytes'): string {
  return `… [${count} ${unit} omitted] …\n`
}

function headOf(whole: Whole, maxLines: number, maxBytes: number): Part {
  const bytes = whole.first
  let end = 0
  let lines = 0
  for (; lines < maxLines; lines++) {
    const found = bytes.indexOf(newline, end)
    if (found < 0 || found >= maxBytes) {
      return { bytes: bytes.subarray(0, end), lines, truncatedBy: 'bytes' }
    }
    end = found + 1
  }
  return { bytes: bytes.subarray(0, end), lines, truncatedBy: 'lines' }
}

function tailOf(whole: Whole, maxLines: number, maxBytes: number): Part {
  const bytes = whole.last
  const from = Math.max(bytes.length - maxBytes, 0)
  let start = bytes.length
  let lines = 0
  for (; lines < maxLines && start > 0; lines++) {
    // Line by line upwards: the newline that ends the line above the one before `start`.
    const found = start < 2 ? -1 : bytes.lastIndexOf(newline, start - 2)
    const lineStart = found + 1
    const isLineStart = found >= 0 || bytes.length === whole.totalBytes
    if (lineStart < from || !isLineStart) {
      if (lines > 0) return { bytes: bytes.subarray(start), lines, truncatedBy: 'bytes' }
      const end = bytes.subarray(characterStart(bytes, from))
      return { bytes: end, lines: end.length === 0 ? 0 : 1, truncatedBy: 'bytes' }
    }
    start = lineStart
  }
  return { bytes: bytes.subarray(start), lines, truncatedBy: 'lines' }
}
