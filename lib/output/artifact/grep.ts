import type { Matches } from '../../protocol/result/artifacts.ts'
import { limits } from '../../protocol/limits.ts'
import { MisuseError, messageOf } from '../../protocol/errors.ts'
import type { Place, ScanOptions } from './line-index.ts'
import { createMatcher, type Match } from './match.ts'

/** What is searched: `ArtifactText` says what its methods do. */
interface Searched {
  countLines(options: ScanOptions): Promise<number>
  landmarkLine(line: number, options: ScanOptions): Promise<number>
  readOn(place: Place, options: ScanOptions): AsyncGenerator<Buffer>
}

export interface GrepOptions extends ScanOptions {
  /** A JavaScript regular expression, tried on each line. */
  pattern: string
  ignoreCase?: boolean
  /** Lines shown before and after each match. Default 0, at most 100. */
  before?: number
  after?: number
  /** Matches at most. Default 200. */
  limit?: number | undefined
  /** Lines to pass over first: `nextOffset` of the call before. */
  offset?: number
  /** At most 2000 and 51,200, which are the defaults. */
  maxLines?: number | undefined
  maxBytes?: number | undefined
  /** For the whole search. Default 5000. */
  timeoutMs?: number
}

/** Text is matched in batches of about so many bytes. */
const batchBytes = 256 * 1024
/** A longer line is matched in parts that overlap: what is longer than the overlap may be missed there. */
const maxLineBytes = 64 * 1024 * 1024
const overlapBytes = 1024 * 1024

/** Searches the lines of a text, of any length. The answer keeps to the limits of an output. */
export async function grepText(text: Searched, options: GrepOptions): Promise<Matches> {
  const { offset = 0, timeoutMs = 5000, signal } = options
  const matcher = createMatcher(compile(options), { timeoutMs, signal })
  const excerpt = new Excerpt(options)
  try {
    for await (const { lines, first } of readBatches(text, offset, options)) {
      const found = await matcher.match(lines.join('\n'))
      if (found === null) return excerpt.result(first, true)
      const matches = new Map(found.map((match) => [match.line, match]))
      for (const [index, line] of lines.entries()) {
        if (!excerpt.add(first + index + 1, line, matches.get(index) ?? null)) {
          return excerpt.result(first + index, false)
        }
      }
    }
  } finally {
    await matcher.close()
  }
  return excerpt.result(null, false)
}

/** The next line that matches, or the one before with `backwards`; both count from 1. */
export interface FindOptions extends ScanOptions {
  pattern: string
  ignoreCase?: boolean
  /** The line from which to search; it is not looked at itself. 0: from the beginning or the end. */
  from: number
  backwards?: boolean
}

/** Where the next match is; null where there is none. */
export async function findInText(
  text: Searched,
  options: FindOptions,
): Promise<{ line: number; column: number } | null> {
  const { from, backwards = false, signal } = options
  const matcher = createMatcher(compile(options), { timeoutMs: null, signal })
  try {
    if (!backwards) {
      for await (const { lines, first } of readBatches(text, from, options)) {
        const [match] = (await matcher.match(lines.join('\n'))) ?? []
        if (match) return placeOf(match, first, lines)
      }
      return null
    }
    let end = from === 0 ? await text.countLines(options) : from - 1
    while (end > 0) {
      const start = await text.landmarkLine(end - 1, options)
      let last: { line: number; column: number } | null = null
      for await (const { lines, first } of readBatches(text, start, { signal })) {
        const wanted = lines.slice(0, Math.max(end - first, 0))
        const match = ((await matcher.match(wanted.join('\n'))) ?? []).at(-1)
        if (match && wanted.length > 0) last = placeOf(match, first, wanted)
        if (first + lines.length >= end) break
      }
      if (last !== null) return last
      end = start
    }
    return null
  } finally {
    await matcher.close()
  }
}

function placeOf(match: Match, first: number, lines: readonly string[]) {
  const before = lines[match.line]!.slice(0, match.from)
  return { line: first + match.line + 1, column: countCodePoints(before) + 1 }
}

function compile({ pattern, ignoreCase }: Pick<GrepOptions, 'pattern' | 'ignoreCase'>): RegExp {
  try {
    return new RegExp(pattern, ignoreCase === true ? 'iu' : 'u')
  } catch (error) {
    throw new MisuseError('invalid_field', `pattern: ${messageOf(error)}`, 'pattern')
  }
}

interface Batch {
  /** Without their newlines. */
  lines: string[]
  /** Lines before them. */
  first: number
}

/** Whole lines, in pieces of bounded size. */
async function* readBatches(
  text: Searched,
  offset: number,
  options: ScanOptions,
): AsyncGenerator<Batch> {
  let pieces: Buffer[] = []
  let bytes = 0
  let hasNewline = false
  let first = offset
  for await (const piece of text.readOn({ line: offset, column: 0 }, options)) {
    pieces.push(piece)
    bytes += piece.length
    hasNewline ||= piece.includes(0x0a)
    if (bytes < batchBytes || !hasNewline) {
      if (bytes < maxLineBytes) continue
      // A part of one gigantic line: the batch after it has the same number.
      const all = Buffer.concat(pieces)
      yield { lines: [all.toString()], first }
      pieces = [all.subarray(all.length - overlapBytes)]
      bytes = overlapBytes
      continue
    }
    const all = Buffer.concat(pieces)
    const end = all.lastIndexOf(0x0a)
    const lines = all.toString('utf8', 0, end).split('\n')
    yield { lines, first }
    first += lines.length
    pieces = [all.subarray(end + 1)]
    bytes = all.length - end - 1
    hasNewline = false
  }
  const rest = Buffer.concat(pieces).toString()
  if (rest !== '') yield { lines: rest.replace(/\n$/, '').split('\n'), first }
}

/** Matching lines with their surroundings, within bounds. */
class Excerpt {
  readonly #before: number
  readonly #after: number
  readonly #limit: number
  readonly #maxLines: number
  readonly #maxBytes: number
  #text = ''
  #bytes = 0
  #lines = 0
  readonly #places: Matches['places'] = []
  /** Lines before, not shown yet. */
  #recent: string[] = []
  #afterLeft = 0
  #lastShown = 0

  constructor({ before = 0, after = 0, limit = 200, maxLines, maxBytes }: GrepOptions) {
    this.#before = Math.min(before, 100)
    this.#after = Math.min(after, 100)
    this.#limit = limit
    this.#maxLines = Math.min(maxLines ?? limits.maxLines, limits.maxLines)
    this.#maxBytes = Math.min(maxBytes ?? limits.maxBytes, limits.maxBytes)
  }

  /** False: there is no room for this line, nor for any after it. */
  add(number: number, line: string, match: Match | null): boolean {
    if (match !== null) {
      if (this.#places.length >= this.#limit) return false
      const isGap = number - this.#recent.length > this.#lastShown + 1 && this.#lastShown > 0
      const separator = isGap && this.#before + this.#after > 0 ? ['--\n'] : []
      const shown = `${number}:${shortenAround(line, match)}\n`
      if (!this.#append([...separator, ...this.#recent, shown])) return false
      const column = countCodePoints(line.slice(0, match.from)) + 1
      this.#places.push({ line: number, column })
      this.#afterLeft = this.#after
    } else if (this.#afterLeft > 0) {
      if (!this.#append([`${number}-${shorten(line)}\n`])) return false
      this.#afterLeft--
    } else {
      if (this.#before === 0) return true
      this.#recent.push(`${number}-${shorten(line)}\n`)
      if (this.#recent.length > this.#before) this.#recent.shift()
      return true
    }
    this.#recent = []
    this.#lastShown = number
    return true
  }

  result(nextOffset: number | null, timedOut: boolean): Matches {
    const places = this.#places
    return { text: this.#text, matches: places.length, places, nextOffset, timedOut }
  }

  #append(lines: string[]): boolean {
    const text = lines.join('')
    const bytes = Buffer.byteLength(text)
    const isOver =
      this.#bytes + bytes > this.#maxBytes || this.#lines + lines.length > this.#maxLines
    if (isOver && this.#lines > 0) return false
    // One match with very long surroundings: the match alone, and of that what fits.
    const shown = isOver ? cutToBytes(lines.at(-1)!, this.#maxBytes) : text
    this.#text += shown
    this.#bytes += Buffer.byteLength(shown)
    this.#lines += isOver ? 1 : lines.length
    return true
  }
}

function shorten(line: string): string {
  return shortenAround(line, { line: 0, from: 0, to: 0 })
}

/** At most 2,000 characters of a line, those around the match; marks say how many are missing. */
function shortenAround(line: string, { from, to }: Match): string {
  const { maxLineChars } = limits
  if (line.length <= maxLineChars) return line
  const characters = Array.from(line.slice(from, from + maxLineChars)).length
  const matched = Math.min(
    characters,
    countCodePoints(line.slice(from, Math.min(to, from + maxLineChars))),
  )
  // A third of what is left for the match's surroundings stands before it.
  const lead = Math.floor((maxLineChars - matched) / 3)
  const total = countCodePoints(line)
  if (total <= maxLineChars) return line
  const place = countCodePoints(line.slice(0, from))
  const first = Math.max(Math.min(place - lead, total - maxLineChars), 0)
  const start = unitsOf(line, from, first - place)
  const stop = unitsOf(line, start, maxLineChars)
  const before = first > 0 ? `… [${first} chars omitted] ` : ''
  const after = total - first - maxLineChars
  return `${before}${line.slice(start, stop)}${after > 0 ? `… [${after} chars omitted]` : ''}`
}

/** The index so many code points behind `from`, or before it. */
function unitsOf(line: string, from: number, characters: number): number {
  let at = from
  for (let left = characters; left > 0 && at < line.length; left--) {
    at += line.codePointAt(at)! > 0xffff ? 2 : 1
  }
  for (let left = characters; left < 0 && at > 0; left++) {
    const isPair = at > 1 && line.codePointAt(at - 2)! > 0xffff
    at -= isPair ? 2 : 1
  }
  return at
}

function countCodePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    // The second half of a pair.
    if (unit >= 0xdc00 && unit <= 0xdfff) count--
  }
  return count
}

function cutToBytes(line: string, maxBytes: number): string {
  if (Buffer.byteLength(line) <= maxBytes) return line
  const bytes = Buffer.from(line)
  let end = maxBytes
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
