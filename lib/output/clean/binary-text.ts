import { incompleteTail, replacement } from '../bytes/utf8.ts'
import { type BinaryCounter, type CountedText, mostFollowing, partBytes } from './binary-count.ts'
import type { HeldText } from './held.ts'
import { type Rewriter, rewriterBytes } from './rewriter.ts'

/**
 * Takes text that was only counted, once it is known what is to follow; false where the text itself is
 * needed.
 */
export type LeaveOut = (text: CountedText, following: CountedText) => boolean

/** After so many refusals in a row the rest is probably needed too: it is not counted any more. */
const mostRefusals = 8
const nothing = new Uint8Array(0)

/** Raw bytes, from the border of a character on. */
interface Part {
  bytes: Uint8Array
  length: number
}

/** A whole part, with what was counted in it. */
interface CountedPart extends Part {
  text: ReturnType<BinaryCounter>
}

/**
 * The text of what is no text. Where somebody takes counts, each part waits for the next ones: of the middle of
 * a long stream nobody reads more than how long it is.
 */
export class BinaryText {
  readonly #held: HeldText
  readonly #rewriter: Rewriter
  /** Absent: nothing waits. */
  #leaveOut: LeaveOut | undefined
  #refusals = 0
  /** In order; the newer part follows. */
  #older: CountedPart[] = []
  #newer: Part = { bytes: nothing, length: 0 }
  #spare: Uint8Array[] = []

  constructor(held: HeldText, rewriter: Rewriter, leaveOut: LeaveOut | undefined) {
    this.#held = held
    held.flush()
    this.#rewriter = rewriter
    this.#leaveOut = leaveOut
  }

  write(bytes: Uint8Array, from: number): void {
    let at = from
    while (this.#leaveOut !== undefined && at < bytes.length) {
      const newer = this.#newer
      if (newer.bytes.length === 0) newer.bytes = new Uint8Array(partBytes)
      const piece = bytes.subarray(at, at + partBytes - newer.length)
      newer.bytes.set(piece, newer.length)
      newer.length += piece.length
      at += piece.length
      if (newer.length === partBytes) this.#turn(this.#leaveOut)
    }
    this.#rewrite(bytes, at, bytes.length)
  }

  /** Brings all of the text to the held text, but for an unfinished character at its end. */
  settle(): void {
    if (this.#leaveOut === undefined) return
    this.#rewriteOlder()
    const { bytes, length } = this.#newer
    const end = length - incompleteTail(bytes, 0, length)
    this.#rewritePart(bytes, end)
    bytes.copyWithin(0, end, length)
    this.#newer.length = length - end
  }

  /** Nothing more comes. */
  end(): void {
    this.#waitNoMore()
    this.#endCharacter()
  }

  /** The newer part is full: it is counted, and becomes an older one. */
  #turn(leaveOut: LeaveOut): void {
    const { bytes, length } = this.#newer
    const { counter } = this.#rewriter
    if (counter === null || this.#refusals === mostRefusals) return this.#waitNoMore()
    const end = length - incompleteTail(bytes, 0, length)
    const begin = this.#older.at(-1)?.text.state ?? this.#rewriter.binaryState
    const text = counter(bytes, end, begin)
    this.#older.push({ bytes, length: end, text })
    this.#leaveOutOlder(leaveOut)
    const next = this.#spare.pop() ?? new Uint8Array(partBytes)
    next.set(bytes.subarray(end, length))
    this.#newer = { bytes: next, length: length - end }
  }

  #leaveOutOlder(leaveOut: LeaveOut): void {
    while (this.#older.length > 1) {
      const [oldest, ...following] = this.#older as [CountedPart, ...CountedPart[]]
      if (leaveOut(oldest.text, sum(following))) {
        this.#rewriter.binaryState = oldest.text.state
        this.#refusals = 0
      } else if (following.length === mostFollowing) {
        this.#rewritePart(oldest.bytes, oldest.length)
        this.#refusals++
      } else return
      this.#older.shift()
      this.#spare.push(oldest.bytes)
    }
  }

  /** Rewrites what waits, and whatever comes from now on at once. */
  #waitNoMore(): void {
    this.#rewriteOlder()
    this.#rewrite(this.#newer.bytes, 0, this.#newer.length)
    this.#newer = { bytes: nothing, length: 0 }
    this.#spare = []
    this.#leaveOut = undefined
  }

  #rewriteOlder(): void {
    for (const { bytes, length } of this.#older) {
      this.#rewritePart(bytes, length)
      this.#spare.push(bytes)
    }
    this.#older = []
  }

  /** A part ends between two characters: what looks like the beginning of one is none. */
  #rewritePart(bytes: Uint8Array, end: number): void {
    this.#rewrite(bytes, 0, end)
    this.#endCharacter()
  }

  #endCharacter(): void {
    if (this.#rewriter.endCharacter()) this.#held.pass(replacement)
  }

  #rewrite(bytes: Uint8Array, from: number, end: number): void {
    for (let at = from; at < end; at += rewriterBytes) {
      const to = Math.min(at + rewriterBytes, end)
      this.#held.pass(this.#rewriter.rewriteBinary(bytes, at, to))
    }
  }
}

function sum(parts: CountedPart[]): CountedText {
  const all = { bytes: 0, newlines: 0, shownBytes: 0 }
  for (const { text } of parts) {
    all.bytes += text.bytes
    all.newlines += text.newlines
    all.shownBytes += text.shownBytes
  }
  return all
}
