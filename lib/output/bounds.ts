import { MisuseError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Bounds, Reading, TextPart } from '../protocol/result/reading.ts'
import { characterStart } from './bytes/utf8.ts'

const newline = 0x0a

/** Whole lines at one end of a text, within both limits. */
export interface WholeLines {
  bytes: Buffer
  lines: number
  /** The limit that ended them. */
  truncatedBy: 'lines' | 'bytes'
}

/** The first lines. An unfinished last line is one if it fits. */
export function firstLines(text: Buffer, maxLines: number, maxBytes: number): WholeLines {
  let end = 0
  let lines = 0
  while (lines < maxLines && end < text.length) {
    const found = text.indexOf(newline, end)
    const lineEnd = found < 0 ? text.length : found + 1
    if (lineEnd > maxBytes) return { bytes: text.subarray(0, end), lines, truncatedBy: 'bytes' }
    end = lineEnd
    lines++
  }
  return { bytes: text.subarray(0, end), lines, truncatedBy: 'lines' }
}

/** The last lines. `hasStart`: the text begins with a line, not within one. */
function lastLines(text: Buffer, maxLines: number, maxBytes: number, hasStart = true): WholeLines {
  const least = Math.max(text.length - maxBytes, 0)
  let start = text.length
  let lines = 0
  while (lines < maxLines && start > 0) {
    // The newline that ends the line above, not the one that ends this line.
    const found = start < 2 ? -1 : text.lastIndexOf(newline, start - 2)
    const isOver = found + 1 < least || (found < 0 && !hasStart)
    if (isOver) return { bytes: text.subarray(start), lines, truncatedBy: 'bytes' }
    start = found + 1
    lines++
  }
  return { bytes: text.subarray(start), lines, truncatedBy: 'lines' }
}

/** The first lines; of a first line over the byte limit, its start, to a character border. */
export function beginningOf(text: Buffer, maxLines: number, maxBytes: number): WholeLines {
  const lines = firstLines(text, maxLines, maxBytes)
  if (lines.lines > 0 || lines.truncatedBy === 'lines') return lines
  return oneLine(firstBytes(text, maxBytes))
}

/** The last lines; of a last line over the byte limit, its end, from a character border on. */
export function endOf(
  text: Buffer,
  maxLines: number,
  maxBytes: number,
  hasStart = true,
): WholeLines {
  const lines = lastLines(text, maxLines, maxBytes, hasStart)
  if (lines.lines > 0 || lines.truncatedBy === 'lines') return lines
  return oneLine(text.subarray(characterStart(text, Math.max(text.length - maxBytes, 0))))
}

function oneLine(bytes: Buffer): WholeLines {
  return { bytes, lines: bytes.length === 0 ? 0 : 1, truncatedBy: 'bytes' }
}

/** The start of a text in at most so many bytes, to a character border. */
export function firstBytes(text: Buffer, maxBytes: number): Buffer {
  let end = Math.min(maxBytes, text.length)
  while (end > 0 && end < text.length && (text[end]! & 0xc0) === 0x80) end--
  return text.subarray(0, end)
}

/** A text from its byte `start` on to its end. */
export interface KeptText {
  text: Buffer
  start: number
}

/** The clean text of a run, and that of each of its streams where it keeps them apart. */
export interface KeptTexts {
  output: KeptText
  stdout?: KeptText
  stderr?: KeptText
}

/** Of a run of which no text is known. */
export const noText: KeptTexts = { output: { text: Buffer.alloc(0), start: 0 } }

/** The part that a reading gives. Throws `MisuseError` if it asks for a stream that is not kept apart. */
export function readKept(texts: KeptTexts, { stream, ...reading }: Reading): TextPart {
  const { text, start } = stream === undefined ? texts.output : (texts[stream] ?? refuseStream())
  return readPart(text, start, reading)
}

function refuseStream(): never {
  const message = '`stream` is for runs with separate streams; this run has merged them'
  throw new MisuseError('invalid_field', message, 'stream')
}

/** The part of `kept` that a reading gives; `kept` is a text from its byte `start` on to its end. */
export function readPart(kept: Buffer, start: number, reading: Omit<Reading, 'stream'>): TextPart {
  const total = start + kept.length
  const wanted = Math.min(Math.max(Math.floor(reading.cursor ?? 0), 0), total)
  const asked = Math.max(wanted - start, 0)
  const from = asked === 0 && start === 0 ? 0 : characterStart(kept, asked)
  const part = boundsOf(kept.subarray(from), reading)
  return {
    text: kept.toString('utf8', from + part.from, from + part.to),
    cursor: start + from + part.to,
    truncatedBefore: start + from + part.from - wanted,
    moreBytes: kept.length - from - part.to,
  }
}

/**
 * Which bytes of a text fit into the bounds: its last lines with `tail`, else its first ones; of a line
 * over the byte limit that end, cut at a character border. Never nothing if there is something.
 */
export function boundsOf(text: Buffer, bounds: Bounds): { from: number; to: number } {
  const maxLines = Math.min(bounds.maxLines ?? limits.maxLines, limits.maxLines)
  const maxBytes = Math.min(bounds.maxBytes ?? limits.maxBytes, limits.maxBytes)
  const { head, tail } = bounds
  if (tail === undefined) {
    const { bytes, truncatedBy } = beginningOf(text, Math.min(head ?? maxLines, maxLines), maxBytes)
    const isOver = bytes.length === 0 && truncatedBy === 'bytes'
    return { from: 0, to: isOver ? characterStart(text, 1) : bytes.length }
  }
  const whole = head === undefined ? text : firstLines(text, head, Infinity).bytes
  const shown = endOf(whole, Math.min(tail, maxLines), maxBytes).bytes
  return { from: whole.length - shown.length, to: whole.length }
}
