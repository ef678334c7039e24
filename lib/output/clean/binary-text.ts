import { incompleteTail, replacement } from '../bytes/utf8.ts'
import { type BinaryCounter, type CountedText, createBinaryCounter } from './binary-count.ts'
import type { HeldText } from './held.ts'
import { type Rewriter, rewriterBytes } from './rewriter.ts'

/**
 * Takes text that was only counted, once it is known what is to follow; false where the text itself is
 * needed.
 */
export type LeaveOut = (text: CountedText, following: CountedText) => boolean

/** So many raw bytes wait until as many have followed. */
const partBytes = 1024 * 1024

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
 * The text of what is no text. Where somebody takes counts, it waits: of the middle of a long stream nobody
 * reads more than how long it is.
 */
export class BinaryText {
  readonly #held: HeldText
  readonly #rewriter: Rewriter
  readonly #leaveOut: LeaveOut | undefined
  #count: BinaryCounter | null = null
  #older: CountedPart | null = null
  #newer: Part = { bytes: new Uint8Array(0), length: 0 }
  #spare: Uint8Array | null = null

  constructor(held: HeldText, rewriter: Rewriter, leaveOut: LeaveOut | undefined) {
    this.#held = held
    held.flush()
    this.#rewriter = rewriter
    this.#leaveOut = leaveOut
  }

  write(bytes: Uint8Array, from: number): void {
    if (this.#leaveOut === undefined) {
      this.#rewrite(bytes, from, bytes.length)
      return
    }
    for (let at = from; at < bytes.length;) {
      const newer = this.#newer
      if (newer.bytes.length === 0) newer.bytes = new Uint8Array(partBytes)
      const piece = bytes.subarray(at, at + partBytes - newer.length)
      newer.bytes.set(piece, newer.length)
      newer.length += piece.length
      at += piece.length
      if (newer.length === partBytes) this.#turn(this.#leaveOut)
    }
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
    this.#rewriteOlder()
    this.#rewritePart(this.#newer.bytes, this.#newer.length)
    this.#newer.length = 0
  }

  /** The newer part is full: it is counted, and becomes the older one. */
  #turn(leaveOut: LeaveOut): void {
    const { bytes, length } = this.#newer
    this.#count ??= createBinaryCounter()
    if (this.#count === null) return this.settle()
    const end = length - incompleteTail(bytes, 0, length)
    const begin = this.#older?.text.state ?? this.#rewriter.binaryState
    const text = this.#count(bytes, end, begin)
    if (this.#older !== null && leaveOut(this.#older.text, text)) {
      this.#rewriter.binaryState = begin
      this.#spare = this.#older.bytes
    } else this.#rewriteOlder()
    this.#older = { bytes, length: end, text }
    const next = this.#spare ?? new Uint8Array(partBytes)
    this.#spare = null
    next.set(bytes.subarray(end, length))
    this.#newer = { bytes: next, length: length - end }
  }

  #rewriteOlder(): void {
    if (this.#older === null) return
    this.#rewritePart(this.#older.bytes, this.#older.length)
    this.#spare = this.#older.bytes
    this.#older = null
  }

  /** A part ends between two characters: what looks like the beginning of one is none. */
  #rewritePart(bytes: Uint8Array, end: number): void {
    this.#rewrite(bytes, 0, end)
    if (this.#rewriter.endCharacter()) this.#held.pass(replacement)
  }

  #rewrite(bytes: Uint8Array, from: number, end: number): void {
    for (let at = from; at < end; at += rewriterBytes) {
      const to = Math.min(at + rewriterBytes, end)
      this.#held.pass(this.#rewriter.rewriteBinary(bytes, at, to))
    }
  }
}
