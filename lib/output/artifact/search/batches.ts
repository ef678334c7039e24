import { characterStart } from '../../bytes/utf8.ts'
import type { Place, ScanOptions } from '../line-index.ts'
import { countCodePoints } from './excerpt.ts'
import { LongLine, type LinePart } from './long-line.ts'
import type { Found, Matcher } from './match.ts'

/** What is searched: `ArtifactText` says what its methods do. */
export interface Searched {
  countLines(options: ScanOptions): Promise<number>
  landmarkLine(line: number, options: ScanOptions): Promise<number>
  readOn(place: Place, options: ScanOptions): AsyncGenerator<Buffer>
}

/** Lines that were looked over. */
export interface MatchedLines extends Found {
  /** Without their newlines. Of a line that is too long to hold: the part that matters. */
  lines: readonly string[]
  /** Lines before them. */
  first: number
  /** Characters of the first line before its part, and behind it. */
  before: number
  after: number
  /** The first line was searched in parts: a match longer than half of what they share may stand in it. */
  mayMatch?: boolean
}

/** Text is matched in batches of about so many bytes. */
const batchBytes = 256 * 1024
/**
 * A longer line is matched in parts, since a pattern needs stack for each character that it goes over. A match
 * that is longer than a part is found only where `.*` or `.+` outside of all groups parts it.
 */
const maxLineBytes = 2 * 1024 * 1024
/** Parts share so many bytes: a match of half as many is seen whole in one of them. */
const overlapBytes = 512 * 1024

/** Lines in batches, each line whole or told by the part in which it matches. */
export async function* matchLines(
  text: Searched,
  matcher: Matcher,
  offset: number,
  options: ScanOptions,
): AsyncGenerator<MatchedLines> {
  let line: LongLine | null = null
  for await (const { lines, first, part } of readBatches(text, offset, options)) {
    if (part === null) {
      yield { lines, first, ...(await matcher.match(lines)), before: 0, after: 0 }
      continue
    }
    line ??= new LongLine(matcher)
    const isKnown = await line.add(lines[0] ?? '', part)
    if (!isKnown) yield { lines, first, matches: [], stoodAt: 0, before: part.before, after: 0 }
    if (!part.isLast) continue
    yield { first, ...line.found }
    line = null
  }
}

interface Batch {
  /** Without their newlines. */
  lines: string[]
  /** Lines before them. */
  first: number
  /** Where it is one part of a line that is too long to hold. */
  part: LinePart | null
}

async function* readBatches(
  text: Searched,
  offset: number,
  options: ScanOptions,
): AsyncGenerator<Batch> {
  let pieces: Buffer[] = []
  let bytes = 0
  let hasNewline = false
  let first = offset
  /** Where the next part of a long line begins. */
  let next = { before: 0, from: 0, seen: 0 }
  for await (const piece of text.readOn({ line: offset, column: 0 }, options)) {
    pieces.push(piece)
    bytes += piece.length
    hasNewline ||= piece.includes(0x0a)
    if (bytes < (hasNewline ? batchBytes : maxLineBytes)) continue
    let all = Buffer.concat(pieces)
    if (!hasNewline) {
      const cut = cutPart(all)
      const part = { ...next, to: cut.text.length - cut.behind.length, isLast: false }
      yield { lines: [cut.text], first, part }
      next = { before: next.before + cut.charsBefore, from: cut.from, seen: cut.seen }
      pieces = [all.subarray(cut.start)]
      bytes = all.length - cut.start
      continue
    }
    if (next.before > 0) {
      const lineEnd = all.indexOf(0x0a)
      const part = { ...next, to: Infinity, isLast: true }
      yield { lines: [all.toString('utf8', 0, lineEnd)], first, part }
      next = { before: 0, from: 0, seen: 0 }
      first++
      all = all.subarray(lineEnd + 1)
    }
    const end = all.lastIndexOf(0x0a)
    if (end >= 0) {
      const lines = all.toString('utf8', 0, end).split('\n')
      yield { lines, first, part: null }
      first += lines.length
    }
    pieces = [all.subarray(end + 1)]
    bytes = all.length - end - 1
    hasNewline = false
  }
  const rest = Buffer.concat(pieces).toString()
  const lines = rest.replace(/\n$/, '').split('\n')
  const part = { ...next, to: Infinity, isLast: true }
  if (next.before > 0) yield { lines: lines.splice(0, 1), first: first++, part }
  if (lines.length > 0 && rest !== '') yield { lines, first, part: null }
}

/** A part of a long line, and where the next one begins: so that half of what they share is behind. */
function cutPart(all: Buffer) {
  const start = characterStart(all, all.length - overlapBytes)
  const middle = characterStart(all, all.length - overlapBytes / 2)
  const before = all.toString('utf8', 0, start)
  const shared = all.toString('utf8', start, middle)
  const behind = all.toString('utf8', middle)
  return {
    text: before + shared + behind,
    behind,
    start,
    charsBefore: countCodePoints(before),
    from: shared.length,
    seen: shared.length + behind.length,
  }
}
