import { isUtf8 } from 'node:buffer'
import { runEscape, runSequence, switchScreen } from './commands.ts'
import type { BinarySigns } from './binary.ts'
import { type BS, CR, EscapeParser } from './escape.ts'
import { type Emit, HeldText } from './held.ts'
import { Page } from './page.ts'
import { usualSize } from '../../protocol/limits.ts'
import { hasEncodedControl, scan } from '../bytes/scan.ts'
import { Screen } from './screen.ts'
import type { ControlSequence } from './sequence.ts'
import { incompleteTail } from '../bytes/utf8.ts'

export interface FilterOptions {
  /** Takes the finished clean text, in order. */
  emit: Emit
  /** Height and width of the terminal that the command believes in. */
  rows?: number
  columns?: number
  /** Begins at a place that another filter told as its `restart`. */
  at?: Omit<Restart, 'unread'>
}

/** A place from which another filter can read on. */
export interface Restart extends BinarySigns {
  /** Raw bytes that were written and are yet to be read again: the beginning of a sequence. */
  unread: number
  isInLine: boolean
}

/** So much is looked over at once, and read in one way. */
const blockBytes = 64 * 1024
const newlineByte = Uint8Array.of(0x0a)
const nothing = new Uint8Array(0)

/**
 * From what a command wrote to what a person would read at the end, as UTF-8. One instance a stream.
 * Text without controls passes in whole pieces; control sequences are taken out byte by byte; what
 * moves the cursor edits a page of the last lines; absolute movement is left to an emulator.
 */
export class Filter {
  readonly #options: FilterOptions
  readonly #held: HeldText
  readonly #page: Page
  readonly #parser: EscapeParser
  #alternate = false
  /** An unfinished sequence at the end of the last write. */
  #unfinished = nothing
  #screen: Screen | null = null

  constructor(options: FilterOptions) {
    this.#options = options
    const { rows = 50, emit, at } = options
    this.#held = new HeldText(emit, rows, at?.isInLine ?? false)
    this.#page = new Page(this.#held, rows)
    const handler = {
      text: this.#text.bind(this),
      control: this.#control.bind(this),
      sequence: this.#sequence.bind(this),
      escape: this.#escape.bind(this),
      binary: this.#binary.bind(this),
    }
    this.#parser = new EscapeParser(handler, at)
  }

  /** The memory of `bytes` is free again when this returns, or when the promise settles. */
  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#screen !== null) return this.#draw(bytes, 0)
    const begun = this.#unfinished
    this.#unfinished = nothing
    const all = begun.length === 0 ? bytes : Buffer.concat([begun, bytes])
    const stopped = this.#read(all, 0)
    if (stopped < all.length) return this.#draw(all, stopped)
  }

  /** Clean text that is not final, since a terminal command may still change it. A copy. */
  pending(): Buffer {
    return this.#screen?.text ?? this.#page.snapshot()
  }

  /**
   * Whether another filter, begun here, would go on in the same way, as long as nothing reaches back
   * over this place; null where something is under way.
   */
  get restart(): Restart | null {
    if (this.#screen !== null || this.#page.isOpen || this.#alternate) return null
    if (!this.#parser.isAtText) return null
    const { isInLine } = this.#held
    return { unread: this.#unfinished.length, isInLine, ...this.#parser.signs }
  }

  /** The text that is not emitted yet, and how far it reaches. For reading only. */
  get held(): Pick<HeldText, 'bytes' | 'position' | 'takeLowest'> {
    return this.#held
  }

  /** Nothing more comes: emits what is pending. */
  end(): void {
    if (this.#screen !== null) {
      // Rows that are blank down to the cursor are no text.
      const text = this.#screen.text.toString().replace(/\n+$/, '\n')
      if (text !== '') this.#options.emit(Buffer.from(text))
      this.#screen.close()
      this.#screen = null
      return
    }
    this.#parser.parse(this.#unfinished, 0, this.#unfinished.length, true)
    this.#unfinished = nothing
    this.#page.close()
    this.#held.flush()
  }

  /** Reads to the end, but for an unfinished sequence, or to one that only a whole screen can carry out. */
  #read(bytes: Uint8Array, from: number): number {
    let at = from
    while (at < bytes.length) {
      const blockEnd = Math.min(at + blockBytes, bytes.length)
      const plain = this.#findPlain(bytes, at, blockEnd)
      if (plain !== null) {
        if (!this.#alternate) this.#held.append(bytes, at, plain.end, plain.newlines)
        at = plain.end
        continue
      }
      const stopped = this.#parser.parse(bytes, at, blockEnd, false)
      if (this.#parser.isRefused) return stopped
      if (stopped === at && blockEnd === bytes.length) {
        this.#unfinished = Uint8Array.from(bytes.subarray(at))
        return bytes.length
      }
      at = stopped
    }
    return at
  }

  /** Draws on the screen, and reads on without it where it is not needed any more. */
  async #draw(bytes: Uint8Array, from: number): Promise<void> {
    let at = from
    while (at < bytes.length) {
      this.#screen ??= await this.#openScreen()
      at = await this.#screen.write(bytes, at)
      if (!this.#screen.isDone) return
      const { text, isBinary } = this.#screen
      if (isBinary) this.#parser.takeForFile()
      this.#screen.close()
      this.#screen = null
      this.#held.append(text, 0, text.length)
      at = this.#read(bytes, at)
    }
  }

  /** A screen as the terminal would show it now. */
  async #openScreen(): Promise<Screen> {
    const { rows = usualSize.rows, columns = usualSize.columns, emit } = this.#options
    const screen = await Screen.open({ rows, columns, emit })
    const shown = this.#page.takeScreen()
    this.#held.flush()
    if (shown !== null) await screen.begin(shown.text, shown.cursor, shown.saved)
    return screen
  }

  /** Text that needs no more than to be passed on, from the first byte on; null: none. */
  #findPlain(bytes: Uint8Array, from: number, to: number) {
    if (!this.#parser.isAtText || this.#parser.isBinary || this.#page.isOpen) return null
    const { control, high, newlines } = scan(bytes, from, to)
    if (control) return null
    if (!high) return { end: to, newlines }
    const end = to - incompleteTail(bytes, from, to)
    if (end === from || !isUtf8(bytes.subarray(from, end))) return null
    return hasEncodedControl(bytes, from, end) ? null : { end, newlines }
  }

  #text(bytes: Uint8Array, from: number, to: number): void {
    if (this.#alternate) return
    const at = this.#page.isOpen ? this.#page.write(bytes, from, to) : from
    if (at >= to) return
    // The page closed on the way, or was not open.
    this.#held.append(bytes, at, to)
  }

  #binary(): void {
    this.#page.close()
    this.#alternate = false
  }

  #control(code: typeof CR | typeof BS): void {
    if (this.#alternate) return
    if (!this.#page.open()) {
      // Too long a line to go back in: the next state of it gets a line of its own.
      if (code === CR) this.#held.append(newlineByte, 0, 1)
    } else if (code === CR) this.#page.carriageReturn()
    else this.#page.backspace()
  }

  #sequence(sequence: ControlSequence): boolean {
    const isAlternate = this.#alternate
    this.#alternate = switchScreen(sequence) ?? isAlternate
    if (isAlternate || this.#alternate) return true
    return runSequence(sequence, this.#page) || this.#parser.isFile
  }

  #escape(final: string): boolean {
    if (final === 'c') {
      // A reset clears the page: what stood there was finished.
      this.#alternate = false
      this.#page.close()
      this.#held.finish()
      return true
    }
    if (this.#alternate) return true
    return runEscape(final, this.#page) || this.#parser.isFile
  }
}
