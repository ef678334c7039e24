import { MisuseError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Bounds, Reading, TextPart } from '../protocol/result/reading.ts'
import { characterStart } from './bytes/utf8.ts'

const newline = 0x0a

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

/** The part that a reading gives. Throws `MisuseError` where it wants a stream that is not kept apart. */
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
 * over the byte limit that end, cut at a character border. Never nothing where there is something.
 */
export function boundsOf(text: Buffer, bounds: Bounds): { from: number; to: number } {
  const maxLines = Math.min(bounds.maxLines ?? limits.maxLines, limits.maxLines)
  const maxBytes = Math.min(bounds.maxBytes ?? limits.maxBytes, limits.maxBytes)
  if (bounds.tail !== undefined) {
    const to = bounds.head === undefined ? text.length : endOfLines(text, bounds.head)
    return { from: startOfTail(text, to, Math.min(bounds.tail, maxLines), maxBytes), to }
  }
  const lines = Math.min(bounds.head ?? maxLines, maxLines)
  const to = endOfLines(text.subarray(0, maxBytes), lines)
  if (to < maxBytes || to === text.length) return { from: 0, to }
  const lineEnd = text.lastIndexOf(newline, maxBytes - 1) + 1
  return { from: 0, to: lineEnd > 0 ? lineEnd : characterEnd(text, maxBytes) }
}

/** The place after the first `lines` lines; the last one may have no newline. */
function endOfLines(text: Buffer, lines: number): number {
  let end = 0
  for (let line = 0; line < lines; line++) {
    const found = text.indexOf(newline, end)
    if (found < 0) return text.length
    end = found + 1
  }
  return end
}

/** Where the last `lines` lines of `text[0, to)` begin, as many as fit into `maxBytes`. */
function startOfTail(text: Buffer, to: number, lines: number, maxBytes: number): number {
  const least = Math.max(to - maxBytes, 0)
  let start = to
  for (let line = 0; line < lines && start > 0; line++) {
    // The newline that ends the line above, not the one that ends this line.
    const lineStart = start < 2 ? 0 : text.lastIndexOf(newline, start - 2) + 1
    if (lineStart < least) return start < to ? start : characterStart(text, least)
    start = lineStart
  }
  return start
}

/** The last character border at or before `at`, but not the start of the text. */
function characterEnd(text: Buffer, at: number): number {
  let end = at
  while (end > 0 && end < text.length && (text[end]! & 0xc0) === 0x80) end--
  if (end > 0) return end
  // A limit of fewer bytes than the first character has: that character.
  end = at
  while (end < text.length && (text[end]! & 0xc0) === 0x80) end++
  return end
}
