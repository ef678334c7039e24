import { isUtf8 } from 'node:buffer'
import { runEscape, runSequence } from './commands.ts'
import { type ControlSequence, createParser, type Parser } from './escape.ts'
import { type Emit, HeldText } from './held.ts'
import { Page } from './page.ts'
import { createScanner, type Scanner } from './scan.ts'
import { incompleteTail } from './utf8.ts'

export interface FilterOptions {
  /** Takes the finished clean text, in order. */
  emit: Emit
  /** Height and width of the terminal that the command believes in. */
  rows?: number
  columns?: number
  scan?: Scanner
}

const largestBlock = 64 * 1024
const smallestBlock = 4 * 1024
const newlineByte = Uint8Array.of(0x0a)
/** Pages that take the place of the text for a while: vim, less, htop. */
const alternateScreens = new Set([47, 1047, 1049])

/**
 * From what a command wrote to what a person would read at the end, as UTF-8. One instance a stream.
 * Text without controls passes in whole pieces; control sequences are taken out byte by byte; what
 * moves the cursor edits a page of the last lines.
 */
export class Filter {
  readonly #scan: Scanner
  readonly #held: HeldText
  readonly #page: Page
  readonly #parser: Parser
  #alternate = false
  /** An unfinished sequence at the end of the last write. */
  #unfinished = new Uint8Array(0)
  #blockBytes = largestBlock

  constructor(options: FilterOptions) {
    const rows = options.rows ?? 50
    this.#scan = options.scan ?? createScanner()
    this.#held = new HeldText(options.emit, rows, this.#scan)
    this.#page = new Page(this.#held, rows)
    this.#parser = createParser({
      text: (bytes, from, to) => this.#text(bytes, from, to),
      control: (code) => this.#control(code),
      sequence: (sequence) => this.#sequence(sequence),
      escape: (final) => this.#escape(final),
    })
  }

  /** The memory of `bytes` is free again when this returns, or when the promise settles. */
  write(bytes: Uint8Array): void | Promise<void> {
    let text = bytes
    if (this.#unfinished.length > 0) {
      text = Buffer.concat([this.#unfinished, bytes])
      this.#unfinished = new Uint8Array(0)
    }
    const stopped = this.#read(text, false)
    if (stopped < text.length) this.#unfinished = Uint8Array.from(text.subarray(stopped))
  }

  /** Clean text that is not emitted yet, since a terminal command may still change it. A copy. */
  pending(): Uint8Array {
    return this.#page.snapshot()
  }

  /** Nothing more comes: emits what is pending. */
  end(): void | Promise<void> {
    this.#read(this.#unfinished, true)
    this.#unfinished = new Uint8Array(0)
    this.#page.close()
    this.#held.flush()
  }

  #read(bytes: Uint8Array, last: boolean): number {
    let at = 0
    while (at < bytes.length) {
      const blockEnd = Math.min(at + this.#blockBytes, bytes.length)
      const plainEnd = this.#plainEnd(bytes, at, blockEnd)
      if (plainEnd > at) {
        if (!this.#alternate) this.#held.append(bytes, at, plainEnd)
        at = plainEnd
        this.#blockBytes = Math.min(this.#blockBytes * 2, largestBlock)
        continue
      }
      const stopped = this.#parser.parse(bytes, at, blockEnd, last && blockEnd === bytes.length)
      this.#blockBytes = smallestBlock * 2
      if (stopped === at && blockEnd === bytes.length) return at
      at = stopped
    }
    return at
  }

  /** How far text reaches that needs no more than to be passed on; `from` where it does. */
  #plainEnd(bytes: Uint8Array, from: number, to: number): number {
    if (!this.#parser.atText || this.#page.isOpen) return from
    const { control, high } = this.#scan(bytes, from, to)
    if (control) return from
    if (!high) return to
    const end = to - incompleteTail(bytes, from, to)
    return isUtf8(bytes.subarray(from, end)) ? end : from
  }

  #text(bytes: Uint8Array, from: number, to: number): void {
    if (this.#alternate) return
    const at = this.#page.isOpen ? this.#page.write(bytes, from, to) : from
    if (at >= to) return
    // The page closed on the way, or was not open.
    this.#held.append(bytes, at, to)
  }

  #control(code: 0x0d | 0x08): void {
    if (this.#alternate) return
    if (!this.#page.open()) {
      // Too long a line to go back in: the next state of it gets a line of its own.
      if (code === 0x0d) this.#held.append(newlineByte, 0, 1)
    } else if (code === 0x0d) this.#page.carriageReturn()
    else this.#page.backspace()
  }

  #sequence(sequence: ControlSequence): boolean {
    if (sequence.prefix === '?' && (sequence.final === 'h' || sequence.final === 'l')) {
      const isAlternate = sequence.parameters.some((mode) => alternateScreens.has(mode))
      if (isAlternate) this.#alternate = sequence.final === 'h'
      return false
    }
    if (this.#alternate) return false
    return !runSequence(sequence, this.#page) && this.#needScreen()
  }

  #escape(final: string): boolean {
    if (final === 'c') this.#alternate = false
    if (this.#alternate) return false
    return !runEscape(final, this.#page) && this.#needScreen()
  }

  #needScreen(): boolean {
    return false
  }
}
