import { isUtf8 } from 'node:buffer'
import type { BinarySigns } from './binary.ts'
import { type BS, CR, EscapeParser } from './escape.ts'
import { type Emit, HeldText } from './held.ts'
import { EditedLine } from './edited-line.ts'
import { hasEncodedControl, scan } from '../bytes/scan.ts'
import { Screen } from './screen.ts'
import type { ControlSequence } from './sequence.ts'
import { incompleteTail } from '../bytes/utf8.ts'

export interface FilterOptions {
  /** Takes the finished clean text, in order. */
  emit: Emit
  /** Size of the terminal of the command. Default 50 rows of 200 columns. */
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
/** Room for the lines of a program that has no terminal and knows no width. */
const unknownSize = { rows: 50, columns: 200 }
/** Pages that take the place of the text for a while: vim, less, htop. */
const alternateScreens = new Set([47, 1047, 1049])
const newlineByte = Uint8Array.of(0x0a)
const nothing = new Uint8Array(0)

/**
 * From what a command wrote to what a person would read at the end, as UTF-8. One instance a stream.
 * Text without controls passes in whole pieces; control sequences are taken out byte by byte; what
 * moves the cursor within its line edits the last line; every other movement is left to an emulator.
 */
export class Filter {
  readonly #options: FilterOptions
  readonly #held: HeldText
  readonly #line = new EditedLine()
  readonly #parser: EscapeParser
  #alternate = false
  /** An unfinished sequence at the end of the last write. */
  #unfinished = nothing
  #screen: Screen | null = null

  constructor(options: FilterOptions) {
    this.#options = options
    const { rows = unknownSize.rows, emit, at } = options
    this.#held = new HeldText(emit, rows, at?.isInLine ?? false)
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
    if (this.#screen !== null) return this.#screen.text
    return Buffer.concat(
      this.#line.isOpen ? [this.#held.bytes, this.#line.text] : [this.#held.bytes],
    )
  }

  /**
   * Whether another filter, begun here, would go on in the same way, as long as nothing reaches back
   * over this place; null where something is under way.
   */
  get restart(): Restart | null {
    if (this.#screen !== null || this.#line.isOpen || this.#alternate) return null
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
    this.#closeLine()
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
    const { rows, columns } = { ...unknownSize, ...this.#options }
    const screen = await Screen.open({ rows, columns, emit: this.#options.emit })
    const isEditable = this.#openLine()
    const column = this.#line.isAtEnd ? null : this.#line.column
    const line = isEditable ? this.#line.close() : nothing
    const shown = Buffer.concat([isEditable ? this.#held.takeLines(rows - 1) : nothing, line])
    this.#held.flush()
    await screen.begin(shown, column)
    return screen
  }

  /** Text that needs no more than to be passed on, from the first byte on; null: none. */
  #findPlain(bytes: Uint8Array, from: number, to: number) {
    if (!this.#parser.isAtText || this.#parser.isBinary || this.#line.isOpen) return null
    const { control, high, newlines } = scan(bytes, from, to)
    if (control) return null
    if (!high) return { end: to, newlines }
    const end = to - incompleteTail(bytes, from, to)
    if (end === from || !isUtf8(bytes.subarray(from, end))) return null
    return hasEncodedControl(bytes, from, end) ? null : { end, newlines }
  }

  /** False if the last line is too long to be edited. */
  #openLine(): boolean {
    if (this.#line.isOpen) return true
    const text = this.#held.takeUnfinished()
    if (text !== null) this.#line.open(text)
    return text !== null
  }

  #closeLine(): void {
    if (!this.#line.isOpen) return
    const text = this.#line.close()
    this.#held.append(text, 0, text.length)
  }

  #text(bytes: Uint8Array, from: number, to: number): void {
    if (this.#alternate) return
    // At a newline, or past editing, the text goes on behind the line.
    const at = this.#line.isOpen ? this.#line.write(bytes, from, to) : from
    if (at === to) return
    this.#closeLine()
    this.#held.append(bytes, at, to)
  }

  #binary(): void {
    this.#closeLine()
    this.#alternate = false
  }

  #control(code: typeof CR | typeof BS): void {
    if (this.#alternate) return
    if (!this.#openLine()) {
      // Too long a line to go back in: the next state of it gets a line of its own.
      if (code === CR) this.#newline()
    } else if (code === CR) this.#line.moveTo(0)
    else this.#line.backspace()
  }

  #newline(): void {
    this.#closeLine()
    this.#held.append(newlineByte, 0, 1)
  }

  /** Carries out what a control sequence does to the text; false if only a whole screen can tell. */
  #sequence(sequence: ControlSequence): boolean {
    const { prefix, parameters, intermediates, final } = sequence
    const isMode = prefix === '?' && (final === 'h' || final === 'l')
    const switches = isMode && parameters.some((mode) => alternateScreens.has(mode))
    const isHidden = switches || this.#alternate
    if (switches) this.#alternate = final === 'h'
    // Modes, queries and the like do not concern the text.
    const isOther =
      intermediates !== '' || (prefix !== '' && !(prefix === '?' && /[JK]/.test(final)))
    if (isHidden || isOther) return true
    return this.#edit(final, parameters[0] ?? -1) || this.#parser.isFile
  }

  #edit(final: string, parameter: number): boolean {
    const line = this.#line
    const count = Math.max(parameter, 1)
    const choice = Math.max(parameter, 0)
    switch (final) {
      case 'C':
      case 'a':
        if (this.#openLine()) line.moveTo(line.column + count)
        return true
      case 'D':
        if (this.#openLine()) line.moveTo(line.column - count)
        return true
      case 'G':
      case '`':
        if (this.#openLine()) line.moveTo(count - 1)
        return true
      case 'E':
        this.#newline()
        return true
      case 'J':
        // Nothing stands below the last line.
        if (choice === 0 && line.isOpen) line.erase(line.column, Infinity)
        return choice === 0 || choice > 2
      case 'K':
        // With the cursor at the end of the text there is nothing to its right.
        if (choice > 2 || (choice === 0 && !line.isOpen) || !this.#openLine()) return true
        line.erase(choice === 0 ? line.column : 0, choice === 1 ? line.column + 1 : Infinity)
        return true
      default:
        return !/[ABFHLMPSTXbdefrsu@]/.test(final)
    }
  }

  #escape(final: string): boolean {
    if (final === 'c') {
      // A reset clears the page: what stood there was finished.
      this.#alternate = false
      this.#closeLine()
      this.#held.finish()
      return true
    }
    if (this.#alternate) return true
    if (final === 'E') {
      this.#newline()
      return true
    }
    return !/[DM78]/.test(final) || this.#parser.isFile
  }
}
