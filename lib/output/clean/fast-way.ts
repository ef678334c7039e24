import { BinaryText, type LeaveOut } from './binary-text.ts'
import type { HeldText } from './held.ts'
import type { Page } from './page.ts'
import { createRewriters, type OpenRewriter, type Rewriter, rewriterBytes } from './rewriter.ts'

const defaultAfterBytes = 256 * 1024
const smallestBytes = 4 * 1024

export interface FastWayOptions {
  openRewriter?: OpenRewriter
  /** Bytes that take the common way before the fast one is made ready. Default 256 KiB. */
  fastAfterBytes?: number
  /** Takes binary data that nobody will read as counts; absent: all of the text is emitted. */
  leaveOut?: LeaveOut
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
  readonly #leaveOut: LeaveOut | undefined
  #rewriter: Rewriter | null = null
  #binary: BinaryText | null = null
  /** The last piece was more than plain text, as the next one will probably be. */
  isChanging = false
  /** Negative once it is ready, or known not to work. */
  #bytesUntilReady: number

  constructor(held: HeldText, page: Page, options: FastWayOptions) {
    this.#held = held
    this.#page = page
    this.#openRewriter = options.openRewriter ?? createRewriters()
    this.#leaveOut = options.leaveOut
    this.#bytesUntilReady = options.fastAfterBytes ?? defaultAfterBytes
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
  writeBinary(bytes: Uint8Array, from: number): void {
    this.#binary ??= new BinaryText(this.#held, this.#rewriter!, this.#leaveOut)
    this.#binary.write(bytes, from)
  }

  /** Brings everything to the held text that waits to be left out. */
  settle(): void {
    this.#binary?.settle()
  }

  /** Nothing more comes. */
  end(): void {
    this.#binary?.end()
  }
}

function isPlainAscii(line: Uint8Array): boolean {
  return line.every((byte) => byte >= 0x20 && byte < 0x7f)
}
