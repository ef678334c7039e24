import type { IBufferLine, IMarker, Terminal } from '@xterm/headless'
import { limitCounts } from '../../system/emulator-counts.ts'
import type { Emit } from './held.ts'

const newline = 0x0a
const ESC = 0x1b
const BS = 0x08
const CR = 0x0d
/** Input in one piece scrolls at most `rows` lines for every four characters; the scrollback must hold them. */
const pieceChars = 512
/** After so many lines of plain text the whole screen is not needed any more. */
const calmLines = 64
/** So many NUL bytes are the contents of a file, nothing that was meant for a terminal. */
const binaryNuls = 100

/** The environment as it was when nacre started. */
const { poolSize } = Buffer

export interface ScreenOptions {
  rows: number
  columns: number
  /** Lines that scrolled off the screen: nothing can change them any more. */
  emit: Emit
}

/**
 * A whole terminal screen, by an emulator: for output that moves the cursor to absolute places. Slow
 * (some 20 MB/s), so that it is left as soon as plain text follows.
 */
export class Screen {
  readonly #terminal: Terminal
  readonly #emit: Emit
  /** The last line passed on: above the screen, where nothing moves it. */
  #passed: IMarker | null = null
  /** The last line passed on goes on in the next one. */
  #isOpenLine = false
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #hasMargins = false
  /** The cursor was sent to the first place by name, not by steps upwards. */
  #isHome = false
  /** The lowest row that a newline led to. */
  #reachedRow = 0
  #isDone = false
  #nuls = 0
  #previous = 0
  #isPlainLine = true
  #plainLines = 0
  #checkAfter = calmLines

  private constructor(terminal: Terminal, emit: Emit) {
    this.#terminal = terminal
    this.#emit = emit
    for (const id of [{ final: 'J' }, { prefix: '?', final: 'J' }]) {
      terminal.parser.registerCsiHandler(id, ([which]) => {
        this.#beforeErase(which)
        return false
      })
    }
    terminal.parser.registerEscHandler({ final: 'c' }, () => {
      this.#passOnScreen()
      this.#passed = null
      this.#hasMargins = false
      return false
    })
    // While another screen is shown, this one cannot be marked.
    terminal.parser.registerCsiHandler({ prefix: '?', final: 'h' }, () => {
      this.#passOn()
      return false
    })
    for (const [final, isHome] of Object.entries({ H: true, f: true, A: false, F: false })) {
      terminal.parser.registerCsiHandler({ final }, () => {
        this.#isHome = isHome
        return false
      })
    }
    terminal.onLineFeed(() => {
      const { active } = terminal.buffer
      if (active.type === 'normal') {
        this.#reachedRow = Math.max(this.#reachedRow, active.baseY + active.cursorY)
      }
    })
    terminal.parser.registerCsiHandler({ final: 'r' }, (parameters) => {
      this.#hasMargins = parameters.some((parameter) => parameter !== 0)
      return false
    })
  }

  /** Loads the emulator on its first use. */
  static async open({ rows, columns, emit }: ScreenOptions): Promise<Screen> {
    const loaded = await import('@xterm/headless')
    const graphemes = await loadGraphemes()
    const { Terminal } = namesOf(loaded)
    const { UnicodeGraphemesAddon } = namesOf(graphemes)
    const terminal = new Terminal({
      rows,
      cols: columns,
      scrollback: (rows * pieceChars) / 4 + rows,
      convertEol: true,
      allowProposedApi: true,
      logLevel: 'off',
    })
    terminal.loadAddon(new UnicodeGraphemesAddon())
    limitCounts(terminal)
    return new Screen(terminal, emit)
  }

  /** Draws what was there before, with the cursor in this column of its last line; null: behind it. */
  async begin(text: Buffer, column: number | null): Promise<void> {
    await this.write(text, 0)
    if (column !== null) await this.write(Buffer.from(`\x1b[${column + 1}G`), 0)
  }

  /** Whether the last write ended because this is no output for a terminal. */
  get isBinary(): boolean {
    return this.#nuls >= binaryNuls
  }

  /** Whether the last write ended because only plain text came: the screen is not needed any more. */
  get isDone(): boolean {
    return this.#isDone
  }

  /**
   * Draws `bytes[from, …)` until only plain text comes; answers how far it read. The cursor is then at the
   * start of the line below the text, and `text` is all there is.
   */
  async write(bytes: Uint8Array, from: number): Promise<number> {
    let drawn = from
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at]!
      const previous = this.#previous
      this.#previous = byte
      const isC1 = previous === 0xc2 && byte < 0xa0
      if (byte === ESC || byte === BS || isC1) this.#isPlainLine = false
      else if (previous === CR && byte !== newline) this.#isPlainLine = false
      if (byte === 0 && ++this.#nuls === binaryNuls) {
        await this.#draw(bytes, drawn, at + 1)
        this.#isDone = true
        return at + 1
      }
      if (byte !== newline) continue
      this.#plainLines = this.#isPlainLine ? this.#plainLines + 1 : 0
      this.#isPlainLine = true
      if (this.#plainLines < this.#checkAfter) continue
      await this.#draw(bytes, drawn, at + 1)
      drawn = at + 1
      this.#isDone = this.#isCalm()
      if (this.#isDone) return drawn
      this.#plainLines = 0
      this.#checkAfter *= 2
    }
    await this.#draw(bytes, drawn, bytes.length)
    return bytes.length
  }

  /** What is on the screen, as text. */
  get text(): Buffer {
    const { normal } = this.#terminal.buffer
    const last = Math.max(this.#lastLine, normal.baseY + normal.cursorY)
    const text = this.#textTo(last)
    const isEnded = this.#reachedRow > last && text !== '' && !text.endsWith('\n')
    return Buffer.from(isEnded ? `${text}\n` : text)
  }

  close(): void {
    this.#terminal.dispose()
  }

  get #firstLine(): number {
    return this.#passed === null || this.#passed.isDisposed ? 0 : this.#passed.line + 1
  }

  async #draw(bytes: Uint8Array, from: number, to: number): Promise<void> {
    // The emulator's own decoder loses characters that come in single bytes.
    const text = this.#decoder.decode(bytes.subarray(from, to), { stream: true })
    let done: Promise<void> | null = null
    for (let at = 0; at < text.length; at += pieceChars) {
      const piece = text.slice(at, at + pieceChars)
      done = new Promise((resolve) => {
        this.#terminal.write(piece, () => {
          this.#passOn()
          resolve()
        })
      })
    }
    await done
  }

  /** The main screen is shown, it scrolls as a whole, and the cursor stands below all text. */
  #isCalm(): boolean {
    const { active, normal } = this.#terminal.buffer
    if (active.type !== 'normal' || this.#hasMargins || normal.cursorX !== 0) return false
    for (let at = normal.baseY + normal.cursorY; at < normal.length; at++) {
      if (normal.getLine(at)!.translateToString(true) !== '') return false
    }
    return true
  }

  /** Passes on what scrolled off the screen. */
  #passOn(): void {
    const { active, normal } = this.#terminal.buffer
    if (active.type !== 'normal') return
    this.#emitTo(normal.baseY - 1)
    this.#markPassed()
  }

  /** What is above the screen is passed on. */
  #markPassed(): void {
    const { normal } = this.#terminal.buffer
    this.#passed?.dispose()
    this.#passed =
      normal.baseY === 0 ? null : (this.#terminal.registerMarker(-normal.cursorY - 1) ?? null)
  }

  /** What is cleared away was finished: it stays in the text, above what follows. */
  #beforeErase(which: number | number[] | undefined): void {
    const { active } = this.#terminal.buffer
    if (active.type !== 'normal') return
    // `clear` of some terminals goes to the first place and erases everything below it.
    const isBelow = which === undefined || which === 0
    const isAtStart = this.#isHome && active.cursorX === 0 && active.cursorY === 0
    if (which === 2 || (isBelow && isAtStart)) this.#passOnScreen()
    // The scrollback is cleared: it must not take lines along that are not passed on yet.
    else if (which === 3) this.#passOn()
  }

  /** Passes everything on down to the last line with text; its rows are about to be used again. */
  #passOnScreen(): void {
    // Blank lines that scrolled off are text too, also if no piece of the input ended since.
    this.#passOn()
    this.#emitTo(this.#lastLine)
    this.#reachedRow = 0
    if (this.#terminal.buffer.active.type === 'normal') this.#markPassed()
  }

  #emitTo(last: number): void {
    if (last < this.#firstLine) return
    const text = this.#textTo(last)
    this.#isOpenLine = true
    if (text !== '') this.#emit(Buffer.from(text))
  }

  /** The last line that is not blank. */
  get #lastLine(): number {
    const { normal } = this.#terminal.buffer
    let last = normal.length - 1
    while (last >= 0 && normal.getLine(last)!.translateToString(true) === '') last--
    return last
  }

  /** The lines that are not passed on yet, down to `last`. */
  #textTo(last: number): string {
    const { normal } = this.#terminal.buffer
    let text = ''
    let isOpen = this.#isOpenLine
    for (let at = this.#firstLine; at <= last; at++) {
      const line = normal.getLine(at)!
      if (isOpen) text += line.isWrapped ? '' : '\n'
      isOpen = true
      text += this.#textOf(line, at)
    }
    return text
  }

  /** A line that goes on below keeps its blanks. */
  #textOf(line: IBufferLine, at: number): string {
    const isContinued = this.#terminal.buffer.normal.getLine(at + 1)?.isWrapped === true
    return line.translateToString(!isContinued)
  }
}

/**
 * The addon reads the table of the widths from the first byte of the memory that holds it, so while it
 * is loaded no text may be decoded into memory that others share.
 */
async function loadGraphemes() {
  Buffer.poolSize = 0
  try {
    return await import('@xterm/addon-unicode-graphemes')
  } finally {
    Buffer.poolSize = poolSize
  }
}

/** The names of a CommonJS package: where it is bundled it has its default export only. */
function namesOf<Names extends object>(loaded: Names): Names {
  return 'default' in loaded ? (loaded.default as Names) : loaded
}
