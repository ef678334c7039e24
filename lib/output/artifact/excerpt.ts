import type { Matches } from '../../protocol/result/reading.ts'
import { limits } from '../../protocol/limits.ts'
import { firstBytes } from '../bounds.ts'

/** The first match of a line, in UTF-16 units. */
export interface Match {
  /** Counted from 0 within the lines that were given. */
  line: number
  from: number
  to: number
}

/** What is shown of a search. */
export interface ExcerptOptions {
  /** Lines shown before and after each match. Default 0, at most 100. */
  before?: number
  after?: number
  /** Matches at most. Default 200. */
  limit?: number | undefined
  /** At most 2000 and 51,200, which are the defaults. */
  maxLines?: number | undefined
  maxBytes?: number | undefined
}

/** Matching lines with their surroundings, within bounds. */
export class Excerpt {
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
  #partlySearched: number | undefined

  constructor({ before = 0, after = 0, limit = 200, maxLines, maxBytes }: ExcerptOptions) {
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

  /** A line of which only the beginning was searched, counted from 1. */
  searchedPartly(number: number): void {
    this.#partlySearched ??= number
  }

  result(nextOffset: number | null): Matches {
    const places = this.#places
    const found = { text: this.#text, matches: places.length, places, nextOffset, timedOut: false }
    const partlySearched = this.#partlySearched
    return partlySearched === undefined ? found : { ...found, partlySearched }
  }

  /** Time or memory was over at this line, counted from 0, of a search from `offset`, which always gets further. */
  outOfTime(line: number, offset: number): Matches {
    if (line > offset) return { ...this.result(line), timedOut: true }
    return { ...this.result(line + 1), timedOut: true, passedOver: line + 1 }
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
  return shortenAround(line, { from: 0, to: 0 })
}

/** At most 2,000 UTF-16 units of a line, those around the match; marks say how many characters are missing. */
function shortenAround(line: string, { from, to }: Pick<Match, 'from' | 'to'>): string {
  const { maxLineChars } = limits
  if (line.length <= maxLineChars) return line
  // A third of what is left for the match's surroundings stands before it.
  const lead = Math.floor(Math.max(maxLineChars - (to - from), 0) / 3)
  const start = Math.max(Math.min(from - lead, line.length - maxLineChars), 0)
  // Half a pair is no character.
  const halves = /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g
  const shown = line.slice(start, start + maxLineChars).replaceAll(halves, '')
  const before = countCodePoints(line.slice(0, start))
  const after = countCodePoints(line) - before - countCodePoints(shown)
  const atStart = before > 0 ? `… [${before} chars omitted] ` : ''
  const atEnd = after > 0 ? `… [${after} chars omitted]` : ''
  return `${atStart}${shown}${atEnd}`
}

export function countCodePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    // The second half of a pair.
    if (unit >= 0xdc00 && unit <= 0xdfff) count--
  }
  return count
}

function cutToBytes(line: string, maxBytes: number): string {
  return firstBytes(Buffer.from(line), maxBytes).toString()
}
