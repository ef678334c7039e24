import { isAscii, isUtf8 } from 'node:buffer'
import { noBytes } from '../bytes/ends.ts'
import { hasControl, hasEncodedControl } from '../bytes/scan.ts'
import { incomplete, incompleteTail, replacement, sequenceAt } from '../bytes/utf8.ts'
import { EditedLine } from './edited-line.ts'
import { type Emit, HeldText } from './held.ts'
import { Screen } from './screen.ts'
import {
  type ControlSequence,
  CSI,
  decodeSequence,
  endOfSequence,
  endOfShortString,
  endOfString,
  isStringIntroducer,
  none,
  notYet,
  SGR,
} from './sequence.ts'
import { BS, CR, enoughDropped, ESC, TextReader } from './text-reader.ts'

export interface FilterOptions {
  /** Takes the finished clean text, in order. */
  emit: Emit
  /** Size of the terminal of the command. Default 50 rows of 200 columns. */
  rows?: number
  columns?: number
  /** It goes on where another filter `isAtLineStart`, which has `dropped` as many. */
  dropped?: number
}

/** So much is looked over at once, and read in one way. */
const blockBytes = 64 * 1024
/** Room for the lines of a program that has no terminal and knows no width. */
const unknownSize = { rows: 50, columns: 200 }
/** Pages that take the place of the text for a while: vim, less, htop. */
const alternateScreens = new Set([47, 1047, 1049])
const newlineByte = Uint8Array.of(0x0a)

/**
 * From what a command wrote to what a person would read at the end, as UTF-8. One instance a stream.
 * Text without controls passes in whole pieces; control sequences are taken out byte by byte; what
 * moves the cursor within its line edits the last line; every other movement is left to an emulator.
 */
export class Filter {
  readonly #options: FilterOptions
  readonly #held: HeldText
  readonly #line = new EditedLine()
  readonly #reader: TextReader
  #alternate = false
  /** Whether it stands within OSC, DCS, APC, PM or SOS. */
  #inString = false
  /** An unfinished sequence at the end of the last write. */
  #unfinished: Uint8Array = noBytes
  #joined = noBytes
  /** Only a whole screen can carry out what comes next. */
  #needsScreen = false
  #screen: Screen | null = null

  constructor(options: FilterOptions) {
    this.#options = options
    const { rows = unknownSize.rows, emit, dropped = 0 } = options
    this.#held = new HeldText(emit, rows)
    this.#reader = new TextReader(dropped)
  }

  /** The memory of `bytes` is free again when this returns, or when the promise settles. */
  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#screen !== null) return this.#draw(bytes, 0)
    const all = this.#join(bytes)
    const stopped = this.#read(all, 0)
    if (stopped < all.length) return this.#draw(all, stopped)
  }

  /** The unfinished sequence with `bytes` behind it. Valid until the next call, as there is one buffer. */
  #join(bytes: Uint8Array): Uint8Array {
    const begun = this.#unfinished
    if (begun.length === 0) return bytes
    this.#unfinished = noBytes
    const length = begun.length + bytes.length
    if (this.#joined.length < length) this.#joined = Buffer.allocUnsafeSlow(length)
    this.#joined.set(begun)
    this.#joined.set(bytes, begun.length)
    return this.#joined.subarray(0, length)
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
   * over this place.
   */
  get isAtLineStart(): boolean {
    if (this.#screen !== null || this.#line.isOpen || this.#alternate) return false
    return !this.#inString && this.#unfinished.length === 0 && !this.#held.isInLine
  }

  /** Control characters so far that no text has. */
  get dropped(): number {
    return this.#reader.dropped
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
    this.#read(this.#unfinished, 0, true)
    this.#closeLine()
    this.#held.flush()
  }

  /**
   * Reads to the end, but for an unfinished sequence (some thousand bytes at most), or to one that only a whole
   * screen can carry out. With `last` nothing more will come.
   */
  #read(bytes: Uint8Array, from: number, last = false): number {
    this.#needsScreen = false
    let at = from
    while (at < bytes.length) {
      const blockEnd = Math.min(at + blockBytes, bytes.length)
      const plainEnd = this.#findPlain(bytes, at, blockEnd)
      if (plainEnd > at) this.#write(bytes, at, plainEnd)
      at = plainEnd
      while (at < blockEnd && plainEnd < blockEnd) {
        const next = this.#readPiece(bytes, at, blockEnd, last)
        if (next === at && !last) {
          if (!this.#needsScreen) this.#unfinished = Uint8Array.from(bytes.subarray(at))
          return this.#needsScreen ? at : bytes.length
        }
        at = next === at ? bytes.length : next
      }
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
      if (isBinary) this.#reader.dropped = enoughDropped
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
    const line = isEditable ? this.#line.close() : noBytes
    const shown = Buffer.concat([isEditable ? this.#held.takeLines(rows - 1) : noBytes, line])
    this.#held.flush()
    await screen.begin(shown, column)
    return screen
  }

  /** The end of the text from here on that needs no more than to be passed on. */
  #findPlain(bytes: Uint8Array, from: number, to: number): number {
    if (this.#inString || this.#reader.isBinary || this.#line.isOpen) return from
    if (hasControl(bytes, from, to)) return from
    if (isAscii(bytes.subarray(from, to))) return to
    const end = to - incompleteTail(bytes, from, to)
    const text = bytes.subarray(from, end)
    return isUtf8(text) && !hasEncodedControl(text) ? end : from
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

  #write(bytes: Uint8Array, from: number, to: number): void {
    if (this.#alternate) return
    // At a newline, or past editing, the text goes on behind the line.
    const at = this.#line.isOpen ? this.#line.write(bytes, from, to) : from
    if (at === to) return
    this.#closeLine()
    this.#held.append(bytes, at, to)
  }

  /** Reads one piece; answers `at` where it must wait, or needs a screen. */
  #readPiece(bytes: Uint8Array, at: number, blockEnd: number, last: boolean): number {
    if (this.#inString) {
      const string = endOfString(bytes, at, bytes.length)
      this.#inString = !string.found
      if (this.#inString || string.at > at) return string.at
    }
    const end = this.#readText(bytes, at, blockEnd)
    return end > at ? end : this.#readControl(bytes, at, last)
  }

  #readText(bytes: Uint8Array, from: number, to: number): number {
    const reader = this.#reader
    const wasBinary = reader.isBinary
    const line = this.#line
    const end = reader.read(bytes, from, to, {
      isFirstColumn: line.isOpen ? line.column === 0 : !this.#held.isInLine,
      isAtEnd: !line.isOpen || line.isAtEnd,
      lineBytes: line.isOpen ? line.column : Infinity,
    })
    const { bytes: text, length, stateStart, isErased } = reader
    if (isErased && line.isOpen && !this.#alternate) line.erase(0, Infinity)
    if (stateStart < 0) this.#write(text, 0, length)
    else {
      this.#write(text, 0, stateStart)
      this.#control(CR)
      this.#write(text, stateStart, length)
    }
    if (reader.isBinary && !wasBinary) {
      this.#closeLine()
      this.#alternate = false
    }
    return end
  }

  /** Reads one piece that is not text. */
  #readControl(bytes: Uint8Array, at: number, last: boolean): number {
    const byte = bytes[at]!
    // Perhaps the first half of `\r\n`.
    if (byte === CR && at + 1 >= bytes.length && !last) return at
    if (byte === ESC) return this.#readEscape(bytes, at)
    if (byte !== CR && byte !== BS) return this.#readBeyondAscii(bytes, at, last)
    this.#control(byte)
    return at + 1
  }

  #readEscape(bytes: Uint8Array, at: number): number {
    if (at + 1 >= bytes.length) return at
    const next = bytes[at + 1]!
    if (next === CSI - 0x40) return this.#readSequence(bytes, at, at + 2)
    if (isStringIntroducer(next + 0x40)) {
      this.#inString = true
      return at + 2
    }
    // Charset selections and the like: intermediates, then one final byte.
    let end = at + 1
    while (bytes[end]! >= 0x20 && bytes[end]! <= 0x2f && end - at < 8) end++
    if (end >= bytes.length) return at
    if (bytes[end]! < 0x30 || bytes[end]! >= 0x7f) return end
    if (end > at + 1 || this.#escape(String.fromCharCode(next))) return end + 1
    this.#needsScreen = true
    return at
  }

  /** A sequence that begins at `at` and whose parameters begin at `from`. */
  #readSequence(bytes: Uint8Array, at: number, from: number): number {
    const end = endOfSequence(bytes, from, bytes.length)
    if (end === notYet) return at
    if (end === none) return from
    if (bytes[end - 1] === SGR || this.#reader.isBinary) return end
    if (this.#sequence(decodeSequence(bytes, from, end))) return end
    this.#needsScreen = true
    return at
  }

  /** An invalid byte, or a control character of 8 bits, alone or encoded. */
  #readBeyondAscii(bytes: Uint8Array, at: number, last: boolean): number {
    const length = sequenceAt(bytes, at, bytes.length)
    if (length === incomplete) {
      if (last) this.#write(replacement, 0, replacement.length)
      return at
    }
    const isEncoded = length === 2
    const code = isEncoded ? bytes[at + 1]! : bytes[at]!
    const after = at + Math.abs(length)
    if (code === CSI) {
      const next = this.#readSequence(bytes, at, after)
      if (this.#needsScreen || next > after || (next === at && !last)) return next
    } else if (isStringIntroducer(code)) {
      const end = endOfShortString(bytes, after, bytes.length)
      if (end === notYet && !last) return at
      if (end > 0) return end
    }
    // Encoded it is a control character, which is dropped; alone it is an invalid byte.
    if (!isEncoded) this.#write(replacement, 0, replacement.length)
    return after
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
    return this.#edit(final, parameters[0] ?? -1)
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
    if (this.#reader.isBinary) return true
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
    return !/[DM78]/.test(final)
  }
}
