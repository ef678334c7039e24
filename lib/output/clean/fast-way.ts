import type { HeldText } from './held.ts'
import type { Page } from './page.ts'
import { type OpenRewriter, type Rewriter, rewriterBytes } from './rewriter.ts'
import { replacement } from '../bytes/utf8.ts'

const defaultAfterBytes = 256 * 1024
const smallestBytes = 4 * 1024

export interface FastWayOptions {
  held: HeldText
  page: Page
  openRewriter: OpenRewriter
  /** Bytes that take the common way before this one is made ready. Default 256 KiB. */
  afterBytes: number | undefined
}

/** How much of the bytes is tried at once: as much as will probably go one way. */
export class BlockSize {
  bytes = rewriterBytes

  /** All of a block went one way. */
  grow(): void {
    this.bytes = Math.min(this.bytes * 2, rewriterBytes)
  }

  /** Only so much of a block did. */
  fit(done: number): void {
    this.bytes = Math.min(Math.max(done * 2, smallestBytes), rewriterBytes)
  }
}

/** Brings text that is more than plain to the held text by the rewriter, as far as that can do it. */
export class FastWay {
  readonly #held: HeldText
  readonly #page: Page
  readonly #openRewriter: OpenRewriter
  #rewriter: Rewriter | null = null
  /** The last piece was more than plain text, as the next one will probably be. */
  isChanging = false
  /** Negative once it is ready, or known not to work. */
  #bytesUntilReady: number

  constructor({ held, page, openRewriter, afterBytes = defaultAfterBytes }: FastWayOptions) {
    this.#held = held
    this.#openRewriter = openRewriter
    this.#page = page
    this.#bytesUntilReady = afterBytes
  }

  /** False where WebAssembly does not work. */
  makeReady(): boolean {
    this.#rewriter ??= this.#openRewriter()
    return this.#rewriter !== null
  }

  /** Counts bytes that come by, until it is worth while; tells whether it is ready. */
  passBy(bytes: number): boolean {
    if (this.#bytesUntilReady >= 0) {
      this.#bytesUntilReady -= bytes
      if (this.#bytesUntilReady < 0) this.makeReady()
    }
    return this.#rewriter !== null
  }

  /** Whether it stands at the end of a character and of a sequence. */
  get isAtRest(): boolean {
    return this.#rewriter?.isAtRest !== false
  }

  /**
   * Rewrites `bytes[from, to)` behind the held text, and the line of the page where that is one only; stops
   * behind `maxInvalid` sequences that are no UTF-8. Null: it cannot be used here.
   */
  rewrite(
    bytes: Uint8Array,
    from: number,
    to: number,
    maxInvalid: number,
  ): { at: number; invalid: number } | null {
    this.isChanging = false
    let column: number | null = null
    if (this.#page.isOpen) {
      column = this.#page.evenColumn
      if (column === null) return null
      this.#page.close()
    }
    const line = this.#held.unfinished
    const isEven = line !== null && (column !== null || isPlainAscii(line))
    const open = isEven ? line : null
    const openLine = { text: open, column: column ?? open?.length ?? 0 }
    const written = this.#rewriter!.rewrite(bytes, from, to, openLine, maxInvalid)
    const { at, text, newlines, back, invalid } = written
    let kept = 0
    if (open !== null) {
      if (Buffer.compare(text.subarray(0, open.length), open) === 0) kept = open.length
      else this.#held.takeUnfinished()
    }
    if (text.length > kept) this.#held.append(text, kept, text.length, newlines)
    if (back > 0) {
      this.#page.open()
      this.#page.moveColumns(-back)
    }
    this.isChanging = text.length - (open?.length ?? 0) !== at - from
    return { at, invalid }
  }

  /** All of `bytes` from `from` on, which are no text. */
  rewriteBinary(bytes: Uint8Array, from: number): void {
    for (let at = from; at < bytes.length; at += rewriterBytes) {
      const to = Math.min(at + rewriterBytes, bytes.length)
      this.#held.pass(this.#rewriter!.rewriteBinary(bytes, at, to))
    }
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#rewriter?.isInCharacter === true) this.#held.append(replacement, 0, 3)
  }
}

function isPlainAscii(line: Uint8Array): boolean {
  return line.every((byte) => byte >= 0x20 && byte < 0x7f)
}
