import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Matches } from '../../protocol/result/reading.ts'
import { MisuseError, messageOf } from '../../protocol/errors.ts'
import { countCodePoints, Excerpt, type ExcerptOptions, type Match } from './excerpt.ts'
import { engineGivesUpMs } from '../../system/pattern.ts'
import type { ArtifactText, Place, ScanOptions } from './text.ts'

interface PatternOptions {
  /** A JavaScript regular expression, tried on each line. */
  pattern: string
  /** The name by which the caller gave the pattern, for messages. Default `pattern`. */
  patternField?: string
  ignoreCase?: boolean
}

export interface GrepOptions extends ScanOptions, PatternOptions, ExcerptOptions {
  /** Lines to pass over first: `nextOffset` of the call before. */
  offset?: number
  /** How long the whole search may take. Default 5000. */
  timeoutMs?: number
}

/** Searches the lines of a text, of any length. The answer keeps to the limits of an output. */
export async function grepText(text: ArtifactText, options: GrepOptions): Promise<Matches> {
  const { offset = 0, timeoutMs = 5000 } = options
  const excerpt = new Excerpt(options)
  for await (const found of matchLines(text, { ...options, offset, timeoutMs })) {
    const { lines, first } = found
    if (found.isLastCut) excerpt.searchedPartly(first + lines.length)
    const matches = new Map(found.matches.map((match) => [match.line, match]))
    for (const [index, line] of lines.entries()) {
      if (index === found.stoodAt) return excerpt.outOfTime(first + index, offset)
      if (!excerpt.add(first + index + 1, line, matches.get(index) ?? null)) {
        return excerpt.result(first + index)
      }
    }
  }
  return excerpt.result(null)
}

/** The next line that matches, or the one before with `backwards`. Lines count from 0. */
export interface FindOptions extends ScanOptions, PatternOptions {
  /** The first line that is looked at; backwards, `Infinity` is the last one there is. */
  from: number
  backwards?: boolean
}

/** A search backwards matches what stands between so many landmarks at once: some megabytes. */
const landmarksBack = 32

/** Where the next match is; null: there is none. */
export async function findInText(text: ArtifactText, options: FindOptions): Promise<Place | null> {
  const { from, backwards = false } = options
  if (!backwards) return findBetween(text, from, Infinity, options)
  for (let end = from + 1; end > 0;) {
    let start = end
    for (let mark = 0; mark < landmarksBack && start > 0; mark++) start = text.lineBefore(start - 1)
    const found = await findBetween(text, start, end, options)
    if (found !== null) return found
    end = start
  }
  return null
}

/** The first match between two lines, the second of which is not looked at; `backwards`, the last one. */
async function findBetween(
  text: ArtifactText,
  start: number,
  end: number,
  options: FindOptions,
): Promise<Place | null> {
  let last: Place | null = null
  for await (const found of matchLines(text, { ...options, offset: start, timeoutMs: null })) {
    const matches = found.matches.filter(({ line }) => found.first + line < end)
    const match = options.backwards ? matches.at(-1) : matches[0]
    if (match) last = placeOf(match, found)
    if (last !== null && !options.backwards) break
    if (found.stoodAt !== null) throw tooDeep()
    if (found.first + found.lines.length >= end) break
  }
  return last
}

function placeOf({ line, from }: Match, { lines, first }: MatchedLines): Place {
  return { line: first + line, column: countCodePoints(lines[line]!.slice(0, from)) }
}

/** Without a limit of time, only an engine that has given up leaves a line unknown. */
function tooDeep(): MisuseError {
  const message =
    'pattern: it needs more memory or time on one of these lines than it may have; write it with fewer repetitions'
  return new MisuseError('invalid_field', message, 'pattern')
}

function compile({ pattern, patternField = 'pattern', ignoreCase }: PatternOptions): RegExp {
  try {
    return new RegExp(pattern, ignoreCase === true ? 'iu' : 'u')
  } catch (error) {
    throw new MisuseError('invalid_field', `${patternField}: ${messageOf(error)}`, patternField)
  }
}

/** Lines that were looked over. */
interface MatchedLines extends Found {
  /** Without their newlines. */
  lines: readonly string[]
  /** Lines before them. */
  first: number
  /** Only the beginning of the last one was searched. */
  isLastCut: boolean
}

/** Of a longer line the beginning is searched: it is held as a whole, three times over. */
const maxLineBytes = 16 * 1024 * 1024
const newline = 0x0a

interface MatchOptions extends ScanOptions, PatternOptions {
  /** Lines to pass over first. */
  offset: number
  /**
   * How long all of it may take, from the first lines on and without the start of its thread. Null: as long as it
   * takes.
   */
  timeoutMs: number | null
}

/** Lines in batches of about a chunk of the file. Rejects with the reason of its signal. */
async function* matchLines(
  text: ArtifactText,
  options: MatchOptions,
): AsyncGenerator<MatchedLines> {
  const { offset } = options
  const matcher = createMatcher(compile(options), options)
  let held: Buffer[] = []
  let heldBytes = 0
  let first = offset
  let isCut = false

  async function match(end: Buffer): Promise<MatchedLines> {
    const lines = Buffer.concat([...held, end])
      .toString()
      .split('\n')
    const found = { lines, first, ...(await matcher.match(lines)), isLastCut: isCut }
    first += lines.length
    held = []
    heldBytes = 0
    isCut = false
    return found
  }

  try {
    for await (const piece of text.readOn({ line: offset, column: 0 }, options)) {
      let rest = piece
      if (isCut) {
        const end = rest.indexOf(newline)
        if (end < 0) continue
        yield await match(Buffer.alloc(0))
        rest = rest.subarray(end + 1)
      }
      const end = rest.lastIndexOf(newline)
      if (end >= 0) yield await match(rest.subarray(0, end))
      held.push(rest.subarray(end + 1))
      heldBytes += rest.length - end - 1
      isCut = heldBytes >= maxLineBytes
    }
    if (heldBytes > 0) yield await match(Buffer.alloc(0))
  } finally {
    await matcher.close()
  }
}

/** Runs in a thread of its own: a pattern that never ends there can be ended from here. */
const threadSource = `
const { parentPort, workerData: { source, flags, givesUpMs } } = require('node:worker_threads')
const pattern = new RegExp(source, flags + 'g')

function find(text) {
  pattern.lastIndex = 0
  const startedMs = performance.now()
  const match = pattern.exec(text)
  if (match === null && performance.now() - startedMs >= givesUpMs) throw new RangeError()
  return match
}

parentPort.on('message', ({ text, shared }) => {
  for (const [line, one] of text.split('\\n').entries()) {
    Atomics.store(shared, 0, line)
    const match = find(one)
    if (match === null) continue
    const count = shared[1]
    shared.set([line, match.index, match.index + match[0].length], 2 + 3 * count)
    Atomics.store(shared, 1, count + 1)
  }
  parentPort.postMessage(null)
})
parentPort.postMessage(null)`

/** What is known of lines. */
interface Found {
  /** The first match of each line that has one. */
  matches: readonly Match[]
  /**
   * The line at which the time was over or the engine gave up, of which nothing is known, nor of those
   * behind it; null: all are known.
   */
  stoodAt: number | null
}

/** Tells which lines match. */
function createMatcher(
  pattern: RegExp,
  { timeoutMs, signal }: Pick<MatchOptions, 'timeoutMs' | 'signal'>,
) {
  const { source, flags } = pattern
  const thread = new Worker(threadSource, {
    eval: true,
    workerData: { source, flags, givesUpMs: engineGivesUpMs },
    stdout: true,
    stderr: true,
  })
  const over = new AbortController()
  const end = () => over.abort()
  signal?.addEventListener('abort', end, { once: true })
  const answer = async () => void (await once(thread, 'message', over))
  const started = answer()
  let timer: NodeJS.Timeout | undefined

  async function match(lines: readonly string[]): Promise<Found> {
    // Shared, so that what the thread has found is known also if it has to be ended.
    const shared = new Int32Array(new SharedArrayBuffer(4 * (2 + 3 * lines.length)))
    let isWhole = false
    try {
      await started
      if (timeoutMs !== null) timer ??= setTimeout(end, timeoutMs)
      thread.postMessage({ text: lines.join('\n'), shared }, [])
      await answer()
      isWhole = true
    } catch (error) {
      signal?.throwIfAborted()
      // The stack on which a pattern goes back over what it has matched is bounded, and so are its steps in Bun.
      if (!over.signal.aborted && !(error instanceof RangeError)) throw error
    }
    return { matches: readMatches(shared), stoodAt: isWhole ? null : shared[0]! }
  }

  return {
    match,
    async close() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      await thread.terminate()
    },
  }
}

/** The line that is tried, the count of matches, then three numbers for each. */
function readMatches(shared: Int32Array): Match[] {
  return Array.from({ length: shared[1]! }, (_, index) => {
    const [line = 0, from = 0, to = 0] = shared.subarray(2 + 3 * index)
    return { line, from, to }
  })
}
