import type { Matches } from '../../protocol/artifacts.ts'
import { limits } from '../../protocol/limits.ts'
import { MisuseError, messageOf } from '../../protocol/errors.ts'
import { LineCutter } from '../line-cutter.ts'
import { createMatcher } from './match.ts'
import { openClean } from './read.ts'

export interface GrepOptions {
  /** A JavaScript regular expression, tried on each line. */
  pattern: string
  ignoreCase?: boolean
  /** Lines shown before and after each match. Default 0, at most 100. */
  before?: number
  after?: number
  /** Matches at most. Default 200. */
  limit?: number
  /** Lines to pass over first: `nextOffset` of the call before. */
  offset?: number
  /** For the whole search. Default 5000. */
  timeoutMs?: number
}

/** Text is matched in batches of about so much, and in the first so many characters of a line. */
const batchBytes = 256 * 1024
const maxMatchedChars = 10_000

/** Searches the clean text of an artifact. The answer keeps to the limits of an output. */
export async function grepFile(path: string, options: GrepOptions): Promise<Matches> {
  const matcher = createMatcher(compile(options), options.timeoutMs ?? 5000)
  const excerpt = new Excerpt(options)
  let passed = 0
  try {
    for await (const batch of readBatches(path)) {
      const lines = batch.split('\n')
      const from = Math.min(Math.max((options.offset ?? 0) - passed, 0), lines.length)
      const found = from === lines.length ? [] : await matcher.match(lines.slice(from).join('\n'))
      if (found === null) return excerpt.result(passed + from, true)
      const isMatch = new Set(found.map((index) => index + from))
      for (let index = from; index < lines.length; index++) {
        if (!excerpt.add(passed + index + 1, lines[index]!, isMatch.has(index))) {
          return excerpt.result(passed + index, false)
        }
      }
      passed += lines.length
    }
  } finally {
    await matcher.close()
  }
  return excerpt.result(null, false)
}

function compile({ pattern, ignoreCase }: GrepOptions): RegExp {
  try {
    return new RegExp(pattern, ignoreCase === true ? 'iu' : 'u')
  } catch (error) {
    throw new MisuseError('invalid_field', `pattern: ${messageOf(error)}`, 'pattern')
  }
}

/** Whole lines without the last newline, in pieces of bounded size. */
async function* readBatches(path: string): AsyncGenerator<string> {
  let pieces: Buffer[] = []
  let bytes = 0
  const cutter = new LineCutter(maxMatchedChars)
  for await (const text of openClean(path)) {
    cutter.write(text, (kept) => {
      pieces.push(Buffer.from(kept))
      bytes += kept.length
    })
    if (bytes < batchBytes) continue
    const all = Buffer.concat(pieces)
    const end = all.lastIndexOf(0x0a)
    if (end < 0) continue
    yield all.toString('utf8', 0, end)
    pieces = [all.subarray(end + 1)]
    bytes = all.length - end - 1
  }
  cutter.finishLine((mark) => pieces.push(Buffer.from(mark)))
  const rest = Buffer.concat(pieces).toString()
  if (rest !== '') yield rest.endsWith('\n') ? rest.slice(0, -1) : rest
}

/** Matching lines with their surroundings, within bounds. */
class Excerpt {
  readonly #before: number
  readonly #after: number
  readonly #limit: number
  #text = ''
  #bytes = 0
  #matches = 0
  /** Lines before, not shown yet. */
  #recent: string[] = []
  #afterLeft = 0
  #lastShown = 0

  constructor({ before = 0, after = 0, limit = 200 }: GrepOptions) {
    this.#before = Math.min(before, 100)
    this.#after = Math.min(after, 100)
    this.#limit = limit
  }

  /** False: there is no room for this line, nor for any after it. */
  add(number: number, line: string, isMatch: boolean): boolean {
    if (isMatch && this.#matches >= this.#limit) return false
    if (isMatch) {
      const gap = number - this.#recent.length > this.#lastShown + 1 && this.#lastShown > 0
      const added = `${gap && this.#before + this.#after > 0 ? '--\n' : ''}${this.#recent.join('')}${number}:${shorten(line)}\n`
      if (!this.#append(added)) return false
      this.#matches++
      this.#afterLeft = this.#after
    } else if (this.#afterLeft > 0) {
      if (!this.#append(`${number}-${shorten(line)}\n`)) return false
      this.#afterLeft--
    } else {
      this.#recent.push(`${number}-${shorten(line)}\n`)
      if (this.#recent.length > this.#before) this.#recent.shift()
      return true
    }
    this.#recent = []
    this.#lastShown = number
    return true
  }

  result(nextOffset: number | null, timedOut: boolean): Matches {
    return { text: this.#text, matches: this.#matches, nextOffset, timedOut }
  }

  #append(text: string): boolean {
    const bytes = Buffer.byteLength(text)
    if (this.#bytes + bytes > limits.maxBytes && this.#bytes > 0) return false
    this.#text += text
    this.#bytes += bytes
    return true
  }
}

function shorten(line: string): string {
  const { maxLineChars } = limits
  return line.length <= maxLineChars
    ? line
    : `${line.slice(0, maxLineChars)}… [${line.length - maxLineChars} chars omitted]`
}
