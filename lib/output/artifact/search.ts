import type { Matches } from '../../protocol/result/artifacts.ts'
import { MisuseError, messageOf } from '../../protocol/errors.ts'
import { characterStart } from '../bytes/utf8.ts'
import { countCodePoints, Excerpt, type ExcerptOptions } from './excerpt.ts'
import { createMatcher, type Found, type Match, type Matcher } from './matcher.ts'
import type { ArtifactText, Place, ScanOptions } from './text.ts'

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
export async function grepText(text: ArtifactText, options: GrepOptions): Promise<Matches> {
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

/** The next line that matches, or the one before with `backwards`. Lines count from 0. */
export interface FindOptions extends ScanOptions {
  pattern: string
  ignoreCase?: boolean
  /** The first line that is looked at; backwards, `Infinity` is the last one there is. */
  from: number
  backwards?: boolean
}

/** A search backwards matches what stands between so many landmarks at once: about a megabyte. */
const landmarksBack = 8

/** Where the next match is; null: there is none. */
export async function findInText(text: ArtifactText, options: FindOptions): Promise<Place | null> {
  const { from, backwards = false, signal } = options
  const matcher = createMatcher(compile(options), { timeoutMs: null, signal })
  try {
    if (!backwards) return await findFirst(text, matcher, options)
    for (let end = from + 1; end > 0;) {
      let start = end
      for (let mark = 0; mark < landmarksBack && start > 0; mark++)
        start = text.lineBefore(start - 1)
      const found = await findLast(text, matcher, start, end, options)
      if (found !== null) return found
      end = start
    }
    return null
  } finally {
    await matcher.close()
  }
}

async function findFirst(
  text: ArtifactText,
  matcher: Matcher,
  options: FindOptions,
): Promise<Place | null> {
  for await (const found of matchLines(text, matcher, options.from, options)) {
    const [match] = found.matches
    if (match) return placeOf(match, found)
    if (found.stoodAt !== null) throw tooDeep()
  }
  return null
}

/** The last match between two lines, the second of which is not looked at. */
async function findLast(
  text: ArtifactText,
  matcher: Matcher,
  start: number,
  end: number,
  { signal, onProgress }: ScanOptions,
): Promise<Place | null> {
  let last: Place | null = null
  for await (const found of matchLines(text, matcher, start, { signal, onProgress })) {
    const match = found.matches.findLast(({ line }) => found.first + line < end)
    if (match) last = placeOf(match, found)
    if (found.stoodAt !== null) throw tooDeep()
    if (found.first + found.lines.length >= end) break
  }
  return last
}

function placeOf(match: Match, { lines, first, before }: MatchedLines): Place {
  const column = countCodePoints(lines[match.line]!.slice(0, match.from))
  return { line: first + match.line, column: column + (match.line === 0 ? before : 0) }
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

/** Lines that were looked over. */
interface MatchedLines extends Found {
  /** Without their newlines. Of a line that is too long to hold: the part that matches, or the first. */
  lines: readonly string[]
  /** Lines before them. */
  first: number
  /** Characters of the first line before its part, and behind it. */
  before: number
  after: number
  /** The first line was searched in parts: a match longer than half of what they share may stand in it. */
  mayMatch?: boolean
}

/** A longer line is matched in parts, since a pattern needs stack for each character that it goes over. */
const maxLineBytes = 2 * 1024 * 1024
/** Parts share so many bytes: a match of half as many is seen whole in one of them. */
const overlapBytes = 512 * 1024
const newline = 0x0a

/** Lines in batches of about a chunk of the file, each line whole or told by one part of it. */
async function* matchLines(
  text: ArtifactText,
  matcher: Matcher,
  offset: number,
  options: ScanOptions,
): AsyncGenerator<MatchedLines> {
  let held = Buffer.alloc(0)
  let first = offset
  let long: LongLine | null = null

  async function* match(bytes: Buffer): AsyncGenerator<MatchedLines> {
    const lines = bytes.toString().split('\n')
    if (long !== null) {
      yield { first: first++, ...(await long.end(lines.shift()!)) }
      long = null
    }
    if (lines.length === 0) return
    yield { lines, first, ...(await matcher.match(lines)), before: 0, after: 0 }
    first += lines.length
  }

  for await (const piece of text.readOn({ line: offset, column: 0 }, options)) {
    held = Buffer.concat([held, piece])
    const end = held.lastIndexOf(newline)
    if (end >= 0) {
      yield* match(held.subarray(0, end))
      held = held.subarray(end + 1)
    }
    if (held.length < maxLineBytes) continue
    long ??= new LongLine(matcher)
    held = await long.add(held)
  }
  if (held.length > 0) yield* match(held)
}

/** A line that is too long to hold: it is known by the part in which it matches. */
class LongLine {
  readonly #matcher: Matcher
  /** The first part, or the one with the first match. */
  #shown: { text: string; before: number; match: Match | null } | null = null
  /** Set once the time was over in a part of it. */
  #stoodAt: number | null = null
  /** Characters before the next part, and where in that part a match is looked for. */
  #before = 0
  #from = 0

  constructor(matcher: Matcher) {
    this.#matcher = matcher
  }

  /** Takes the next part; gives what belongs to the one after it too. */
  async add(bytes: Buffer<ArrayBuffer>): Promise<Buffer<ArrayBuffer>> {
    const start = characterStart(bytes, bytes.length - overlapBytes)
    const middle = characterStart(bytes, bytes.length - overlapBytes / 2)
    const text = bytes.toString()
    const shared = bytes.toString('utf8', start, middle)
    const to = text.length - bytes.toString('utf8', middle).length
    // The line goes on: a newline stands for what follows, so that neither `$` nor `.` matches there.
    await this.#match(`${text}\n`, text, to)
    this.#before += countCodePoints(bytes.toString('utf8', 0, start))
    this.#from = shared.length
    return bytes.subarray(start)
  }

  /** Takes the last part. */
  async end(text: string): Promise<Omit<MatchedLines, 'first'>> {
    await this.#match(text, text, Infinity)
    const { match, ...shown } = this.#shown!
    const after = this.#before + countCodePoints(text) - shown.before - countCodePoints(shown.text)
    const matches = match === null ? [] : [match]
    const stoodAt = match === null ? this.#stoodAt : null
    const mayMatch = match === null && stoodAt === null
    return { lines: [shown.text], before: shown.before, after, matches, stoodAt, mayMatch }
  }

  /** Takes a match that begins before `to` and ends within the text. */
  async #match(searched: string, text: string, to: number): Promise<void> {
    if (this.#shown?.match || this.#stoodAt !== null) return
    const { matches, stoodAt } = await this.#matcher.matchPart(searched, this.#from)
    this.#stoodAt = stoodAt
    const match = matches.find((one) => one.from < to && one.to <= text.length) ?? null
    if (this.#shown === null || match !== null) this.#shown = { text, before: this.#before, match }
  }
}
