import { isUtf8 } from 'node:buffer'
import { BinarySigns } from './binary-signs.ts'
import { runEscape, runSequence, switchScreen } from './commands.ts'
import { type BS, CR, EscapeParser } from './escape.ts'
import { BlockSize, FastWay, type FastWayOptions } from './fast-way.ts'
import { type Emit, HeldText } from './held.ts'
import { Page } from './page.ts'
import { usualSize } from '../../protocol/limits.ts'
import { createScanner, endOfZeros, type Scanner } from '../bytes/scan.ts'
import { Screen } from './screen.ts'
import type { ControlSequence } from './sequence.ts'
import { incompleteTail, replacement } from '../bytes/utf8.ts'

export interface FilterOptions extends FastWayOptions {
  /** Takes the finished clean text, in order. */
  emit: Emit
  /** Height and width of the terminal that the command believes in. */
  rows?: number
  columns?: number
  scan?: Scanner
  /** Begins at a place that another filter told as its `restart`. */
  at?: Omit<Restart, 'unread'>
}

/** A place from which another filter can read on. */
export interface Restart {
  /** Raw bytes that were written and are yet to be read again: the beginning of a sequence. */
  unread: number
  isInLine: boolean
  invalid: number
  dropped: number
}

/** The fast way is worth while where it gets so far. */
const worthwhileBytes = 256
/** What ends a sequence that an earlier piece began stands within so many bytes, as a rule. */
const jointBytes = 64
const newlineByte = Uint8Array.of(0x0a)

/**
 * From what a command wrote to what a person would read at the end, as UTF-8. One instance a stream.
 * Text without controls passes in whole pieces; control sequences are taken out byte by byte; what
 * moves the cursor edits a page of the last lines; absolute movement is left to an emulator.
 */
export class Filter {
  readonly #options: FilterOptions
  readonly #scan: Scanner
  readonly #held: HeldText
  readonly #page: Page
  readonly #parser: EscapeParser
  readonly #fastWay: FastWay
  #alternate = false
  /** An unfinished sequence at the end of the last write. */
  #unfinished = new Uint8Array(0)
  readonly #block = new BlockSize()
  #screen: Screen | null = null
  readonly #signs: BinarySigns
  /** The rest is binary data, and is rewritten as such. */
  #isBinary = false
  /** The last read ended before a sequence that only a whole screen can carry out. */
  #needsScreen = false

  constructor(options: FilterOptions) {
    this.#options = options
    const rows = options.rows ?? 50
    this.#scan = options.scan ?? createScanner()
    this.#held = new HeldText(options.emit, rows, this.#scan, options.at?.isInLine ?? false)
    this.#signs = new BinarySigns(options.at?.invalid, options.at?.dropped)
    this.#page = new Page(this.#held, rows)
    this.#fastWay = new FastWay(this.#held, this.#page, options)
    this.#parser = new EscapeParser({
      text: (bytes, from, to) => this.#text(bytes, from, to),
      invalid: () => this.#replace(),
      dropped: (count) => this.#drop(count),
      control: (code) => this.#control(code),
      sequence: (sequence) => this.#sequence(sequence),
      escape: (final) => this.#escape(final),
    })
    this.#checkBinary()
  }

  /** The memory of `bytes` is free again when this returns, or when the promise settles. */
  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#screen !== null) return this.#draw(bytes, 0)
    const begun = this.#unfinished
    if (begun.length === 0) return this.#readOrDraw(bytes, 0)
    this.#unfinished = new Uint8Array(0)
    // Few bytes end what was begun: the others need not be copied.
    const joint = Buffer.concat([begun, bytes.subarray(0, jointBytes)])
    const at = this.#read(joint, 0) - this.#unfinished.length
    this.#unfinished = new Uint8Array(0)
    if (at >= begun.length) return this.#readOrDraw(bytes, at - begun.length)
    return this.#readOrDraw(Buffer.concat([begun, bytes]), at)
  }

  #readOrDraw(bytes: Uint8Array, from: number): void | Promise<void> {
    const stopped = this.#read(bytes, from)
    if (this.#needsScreen) return this.#draw(bytes, stopped)
  }

  /** Clean text that is not final, since a terminal command may still change it. A copy. What is final is emitted. */
  pending(): Buffer {
    this.#fastWay.settle()
    return this.#screen?.text ?? this.#page.snapshot()
  }

  /**
   * Whether another filter, begun here, would go on in the same way, as long as nothing reaches back
   * over this place; null where something is under way.
   */
  get restart(): Restart | null {
    if (this.#screen !== null || this.#page.isOpen || this.#alternate) return null
    if (!this.#parser.isAtText || !this.#fastWay.isAtRest) return null
    const { isInLine } = this.#held
    const { invalid, dropped } = this.#signs
    return { unread: this.#unfinished.length, isInLine, invalid, dropped }
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
    this.#unfinished = new Uint8Array(0)
    this.#page.close()
    this.#fastWay.end()
    this.#held.flush()
  }

  /** Reads up to the end, or to a sequence that needs a whole screen; an unfinished one is kept. */
  #read(bytes: Uint8Array, from: number): number {
    this.#needsScreen = false
    let at = from
    while (at < bytes.length) {
      if (this.#isBinary) {
        this.#fastWay.writeBinary(bytes, at)
        return bytes.length
      }
      if (bytes[at] === 0 && this.#parser.isAtText) {
        // Dropped, in one piece: they come by the megabyte.
        at = endOfZeros(bytes, at)
        continue
      }
      const blockEnd = Math.min(at + this.#block.bytes, bytes.length)
      const plain = this.#findPlain(bytes, at, blockEnd)
      if (plain !== null) {
        if (!this.#alternate) this.#held.append(bytes, at, plain.end, plain.newlines)
        at = plain.end
        this.#block.grow()
        continue
      }
      // A character that has only begun is nothing for the ways below.
      const begun = incompleteTail(bytes, at, bytes.length)
      if (at + begun === bytes.length && this.#parser.isAtText) return this.#keep(bytes, at)
      const rewritten = this.#rewrite(bytes, at, blockEnd)
      let isWorthwhile = false
      if (rewritten > at) {
        const isWhole = rewritten === blockEnd
        isWorthwhile = rewritten - at >= worthwhileBytes
        if (isWhole) this.#block.grow()
        else this.#block.fit(rewritten - at)
        at = rewritten
        if (isWhole || this.#isBinary) continue
      }
      // The common way: to the end of the block, or past the one piece that the fast way cannot do.
      if (!isWorthwhile) this.#block.fit(0)
      const stopped = isWorthwhile
        ? this.#parser.parsePiece(bytes, at, bytes.length)
        : this.#parser.parse(bytes, at, blockEnd, false)
      if (this.#needsScreen) return stopped
      if (stopped === at && blockEnd === bytes.length && !this.#isBinary) {
        return this.#keep(bytes, at)
      }
      at = stopped
    }
    return at
  }

  /** Keeps what is unfinished for the next write. */
  #keep(bytes: Uint8Array, from: number): number {
    this.#unfinished = Uint8Array.from(bytes.subarray(from))
    return bytes.length
  }

  /** The fast way; answers how far it went: nowhere, where it cannot be used. */
  #rewrite(bytes: Uint8Array, from: number, to: number): number {
    const isReady = this.#fastWay.passBy(to - from)
    if (!isReady || this.#alternate || !this.#parser.isAtText) return from
    const rewritten = this.#fastWay.rewrite(bytes, from, to, this.#signs.invalidUntilBinary)
    if (rewritten === null) return from
    this.#signs.invalid += rewritten.invalid
    if (rewritten.invalid > 0) this.#checkBinary()
    return rewritten.at
  }

  #drop(count: number): void {
    this.#signs.dropped += count
    this.#checkBinary()
  }

  #checkBinary(): void {
    if (this.#isBinary || !this.#signs.isBinary || !this.#fastWay.makeReady()) return
    this.#isBinary = true
    this.#page.close()
    this.#parser.halt()
  }

  /** Draws on the screen, and reads on without it where it is not needed any more. */
  async #draw(bytes: Uint8Array, from: number): Promise<void> {
    let at = from
    while (at < bytes.length) {
      this.#screen ??= await this.#openScreen()
      at = await this.#screen.write(bytes, at)
      if (!this.#screen.isDone) return
      const { text, isBinary } = this.#screen
      if (isBinary) this.#signs.takeForFile()
      this.#screen.close()
      this.#screen = null
      this.#held.append(text, 0, text.length)
      at = this.#read(bytes, at)
      if (!this.#needsScreen) return
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
    if (!this.#parser.isAtText || this.#page.isOpen) return null
    if (this.#fastWay.isChanging && !this.#alternate) return null
    const { control, high, newlines } = this.#scan(bytes, from, to)
    if (control) return null
    if (!high) return { end: to, newlines }
    const end = to - incompleteTail(bytes, from, to)
    return end > from && isUtf8(bytes.subarray(from, end)) ? { end, newlines } : null
  }

  #text(bytes: Uint8Array, from: number, to: number): void {
    if (this.#alternate) return
    const at = this.#page.isOpen ? this.#page.write(bytes, from, to) : from
    if (at >= to) return
    // The page closed on the way, or was not open.
    this.#held.append(bytes, at, to)
  }

  #replace(): void {
    this.#text(replacement, 0, replacement.length)
    this.#signs.invalid++
    this.#checkBinary()
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
    this.#needsScreen = !runSequence(sequence, this.#page) && !this.#signs.isNoScreen
    return !this.#needsScreen
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
    this.#needsScreen = !runEscape(final, this.#page) && !this.#signs.isNoScreen
    return !this.#needsScreen
  }
}
