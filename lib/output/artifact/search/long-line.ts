import { countCodePoints } from './excerpt.ts'
import type { Match, Matcher, PartOfLine } from './match.ts'

/** What stands in it around the place of a match belongs to its neighbours. */
export interface LinePart extends PartOfLine {
  /** Characters of the line before it. */
  before: number
  /** Where in it that begins which the part before did not have. */
  seen: number
}

interface Held {
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
  #chars = 0

  constructor(matcher: Matcher) {
    this.#matcher = matcher
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
    return true
  }

  /** After the last part. */
  get found() {
    const { text, before, match } = this.#held!
    const after = this.#chars - before - countCodePoints(text)
    return { lines: [text], matches: match === null ? [] : [match], stoodAt: null, before, after }
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
