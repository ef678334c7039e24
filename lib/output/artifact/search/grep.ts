import type { Matches } from '../../../protocol/result/artifacts.ts'
import { MisuseError, messageOf } from '../../../protocol/errors.ts'
import type { ScanOptions } from '../line-index.ts'
import { type MatchedLines, matchLines, type Searched } from './batches.ts'
import { countCodePoints, Excerpt, type ExcerptOptions } from './excerpt.ts'
import { createMatcher, type Match } from './match.ts'

export interface GrepOptions extends ScanOptions, ExcerptOptions {
  /** A JavaScript regular expression, tried on each line. */
  pattern: string
  /** The name by which the caller gave the pattern, for messages. Default `pattern`. */
  patternField?: string
  ignoreCase?: boolean
  /** Lines to pass over first: `nextOffset` of the call before. */
  offset?: number
  /** How long the whole search may take. Default 5000. */
  timeoutMs?: number
}

/** Searches the lines of a text, of any length. The answer keeps to the limits of an output. */
export async function grepText(text: Searched, options: GrepOptions): Promise<Matches> {
  const { offset = 0, timeoutMs = 5000, signal } = options
  const matcher = createMatcher(compile(options), { timeoutMs, signal })
  const excerpt = new Excerpt(options)
  try {
    for await (const found of matchLines(text, matcher, offset, options)) {
      const { lines, first } = found
      if (found.mayMatch) excerpt.searchedInParts(first + 1)
      const matches = new Map(found.matches.map((match) => [match.line, match]))
      for (const [index, line] of lines.entries()) {
        if (index === found.stoodAt) return excerpt.outOfTime(first + index, offset)
        if (!excerpt.add(first + index + 1, line, matches.get(index) ?? null, found)) {
          return excerpt.result(first + index)
        }
      }
    }
  } finally {
    await matcher.close()
  }
  return excerpt.result(null)
}

/** The next line that matches, or the one before with `backwards`; both count from 1. */
export interface FindOptions extends ScanOptions {
  pattern: string
  ignoreCase?: boolean
  /** The line from which to search; it is not looked at itself. 0: from the beginning or the end. */
  from: number
  backwards?: boolean
  /** Hears of a line, counted from 1, that was passed over and in which a match may have been missed. */
  onInParts?: (line: number) => void
}

/** So many landmarks lie within what is matched at once, so that each step back is matched in one go. */
const landmarksBack = 3

/** Where the next match is; null where there is none. */
export async function findInText(
  text: Searched,
  options: FindOptions,
): Promise<{ line: number; column: number } | null> {
  const { from, backwards = false, signal } = options
  const matcher = createMatcher(compile(options), { timeoutMs: null, signal })
  try {
    if (!backwards) {
      for await (const found of matchLines(text, matcher, from, options)) {
        const [match] = found.matches
        if (match) return placeOf(match, found)
        if (found.mayMatch) options.onInParts?.(found.first + 1)
        if (found.stoodAt !== null) throw tooDeep()
      }
      return null
    }
    const lines = from === 0 ? await text.countLines(options) : from - 1
    let end = lines
    while (end > 0) {
      options.onRead?.(lines - end, lines)
      let start = end
      for (let mark = 0; mark < landmarksBack && start > 0; mark++) {
        start = await text.landmarkLine(start - 1, options)
      }
      let last: { line: number; column: number } | null = null
      let inParts: number | null = null
      for await (const found of matchLines(text, matcher, start, { signal })) {
        const isWanted = ({ line }: Match) => found.first + line < end
        const match = found.matches.findLast(isWanted)
        if (match) {
          last = placeOf(match, found)
          inParts = null
        } else if (found.mayMatch && found.first < end) inParts = found.first + 1
        if (found.stoodAt !== null) throw tooDeep()
        if (found.first + found.lines.length >= end) break
      }
      if (inParts !== null) options.onInParts?.(inParts)
      if (last !== null) return last
      end = start
    }
    return null
  } finally {
    await matcher.close()
  }
}

function placeOf(match: Match, { lines, first, before }: MatchedLines) {
  const column = countCodePoints(lines[match.line]!.slice(0, match.from)) + 1
  return { line: first + match.line + 1, column: column + (match.line === 0 ? before : 0) }
}

/** Without a limit of time, only an engine that has given up leaves a line unknown. */
function tooDeep(): MisuseError {
  const message =
    'pattern: it needs more memory or time on one of these lines than it may have; write it with fewer repetitions'
  return new MisuseError('invalid_field', message, 'pattern')
}

function compile({
  pattern,
  patternField = 'pattern',
  ignoreCase,
}: Pick<GrepOptions, 'pattern' | 'patternField' | 'ignoreCase'>): RegExp {
  try {
    return new RegExp(pattern, ignoreCase === true ? 'iu' : 'u')
  } catch (error) {
    throw new MisuseError('invalid_field', `${patternField}: ${messageOf(error)}`, patternField)
  }
}
