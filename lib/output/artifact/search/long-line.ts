import { countCodePoints } from './excerpt.ts'
import type { Match, Matcher, PartOfLine } from './match.ts'

/** What stands in it around the place of a match belongs to its neighbours. */
export interface LinePart extends PartOfLine {
  /** Characters of the line before it. */
  before: number
  /** Where in it that begins which the part before did not have. */
  seen: number
}

/** A part of a line, and where it matches there. */
export interface Held {
  text: string
  before: number
  match: Match | null
}

/** A line that is too long to hold: it is known by the part in which it matches. */
export class LongLine {
  readonly #matcher: Matcher
  /** The first part, then the one with the first match. */
  #held: Held | null = null
  /** A part before that one with a match that has not ended yet. */
  #open: Held | null = null
  /** For a match that no part holds whole. */
  readonly #steps: StepsInLine
  #chars = 0

  constructor(matcher: Matcher) {
    this.#matcher = matcher
    this.#steps = new StepsInLine(matcher)
  }

  /** Takes the next part; false: the time was over before its match was known. */
  async add(text: string, part: LinePart): Promise<boolean> {
    const { before } = part
    if (part.isLast) this.#chars = before + countCodePoints(text)
    if (!(await this.#followOpen(text, part))) return false
    if (this.#held !== null && this.#held.match !== null) return true
    const { matches, stoodAt } = await this.#matcher.match([text], part)
    if (stoodAt !== null) return false
    const [match = null] = matches
    if (match?.isOpen) this.#open ??= { text, before, match }
    const ended = match?.isOpen ? null : match
    if (this.#held === null || ended !== null) this.#held = { text, before, match: ended }
    if (!(await this.#steps.follow(text, part))) return false
    const { found } = this.#steps
    // What matches within one part is known better there, but stands behind a match that began earlier.
    if (found !== null && (ended === null || found.before < before)) this.#held = found
    return true
  }

  /** After the last part. */
  get found() {
    const { text, before, match } = this.#held!
    const after = this.#chars - before - countCodePoints(text)
    const lines = [text]
    if (match !== null) return { lines, matches: [match], stoodAt: null, before, after }
    const { isUnbounded } = this.#matcher
    return { lines, matches: [], stoodAt: null, before, after, mayMatch: isUnbounded }
  }

  /** Looks whether the match that has not ended goes on in this part; it stands before any other. */
  async #followOpen(text: string, { seen, isLast }: LinePart): Promise<boolean> {
    const open = this.#open
    if (open?.match == null) return true
    const { from } = open.match
    const both = open.text + text.slice(seen)
    const { matches, stoodAt } = await this.#matcher.match([both], { from, to: from + 1, isLast })
    if (stoodAt !== null) return false
    const [match] = matches
    if (match?.isOpen) return true
    if (match) this.#held = open
    this.#open = null
    return true
  }
}

/** Follows the steps of a pattern through the parts of one line. */
class StepsInLine {
  readonly #matcher: Matcher
  #done = 0
  /** The next step begins at the earliest so far behind the place at which the parts meet. */
  #ahead = 0
  /** Where the first step is. */
  #first: Held | null = null

  constructor(matcher: Matcher) {
    this.#matcher = matcher
  }

  /** Where the line matches, as soon as all steps are found. */
  get found(): Held | null {
    return this.#done > 0 && this.#done === this.#matcher.steps.length ? this.#first : null
  }

  /** Looks for further steps in the next part; false: the time was over. */
  async follow(text: string, part: LinePart): Promise<boolean> {
    const { steps } = this.#matcher
    const { before, to } = part
    let from = part.from + this.#ahead
    while (this.#done < steps.length && from < to) {
      const place = { ...part, from, step: this.#done }
      const { matches, stoodAt } = await this.#matcher.match([text], place)
      if (stoodAt !== null) return false
      const [match] = matches
      if (!match || match.isOpen) {
        this.#ahead = 0
        return true
      }
      // What lies between the steps belongs to the match.
      this.#first ??= { text, before, match: { ...match, to: text.length } }
      from = match.to + (steps[this.#done]!.isApart ? 1 : 0)
      this.#done++
    }
    this.#ahead = from - to
    return true
  }
}
