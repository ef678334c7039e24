import xterm, { type IBufferCell, type IBufferLine } from '@xterm/headless'
import { limitCounts } from '../../system/emulator-counts.ts'
import { mirrorModes, type MirroredModes } from './modes.ts'
import type { Frame } from './region.ts'

/** A terminal without a screen, which a program on a pty draws on. */
export interface Emulator {
  /** Draws the bytes soon; what of a flood can no longer be seen is passed over. A promise holds up the program. */
  write(bytes: Uint8Array): void | Promise<'closed' | void>
  /** Settles when everything is drawn. */
  settle(): Promise<void>
  resize(columns: number, rows: number): void
  /** Gives all of its screen. */
  paint(): Frame
  /** The last lines of its text with their colours, and the cursor where it is among them. */
  tail(rows: number): Tail
  /** Whether the program has the whole screen now: the alternate one, or the mouse too. */
  readonly isFullScreen: boolean
  /** Whether its text needs more rows than are left beside the REPL's own lines. */
  readonly isFilled: boolean
  /** Whether the program has emptied the screen, and not only that of a full-screen program. */
  readonly wasCleared: boolean
  readonly modes: Pick<MirroredModes, 'enter' | 'leave' | 'takesPastes'>
  close(): void
}

export interface Tail extends Frame {
  /** Which of them go on from the one before: the terminal has wrapped them. */
  wrapped: boolean[]
  /** How many lines of text, as the program ended them, these are. */
  count: number
}

export interface EmulatorOptions {
  columns: number
  rows: number
  /** What the terminal answers to a program's question; typed into the pty. */
  onAnswer: (data: string) => void
  /** Modes for the real terminal, while the program has it. */
  onModes: (text: string) => void
  /** Is called when something new is drawn. `cleared`: the program has emptied the screen before. */
  onDrawn: (cleared: { scrolledAway: boolean } | null) => void
}

const scrollback = 1000
/** Rows of the REPL beside a running command: its headline, how long it has run, the status bar, some air. */
const ownRows = 6

export function createEmulator(options: EmulatorOptions): Emulator {
  const { columns, rows } = options
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback, allowProposedApi: true })
  limitCounts(terminal)
  const modes = mirrorModes(terminal, options.onModes)
  terminal.onData((data) => options.onAnswer(data))
  /** Where the text begins since the screen was emptied. */
  let start: xterm.IMarker | undefined
  let cleared: { scrolledAway: boolean } | null = null
  function clear(all: boolean): false {
    const { active, normal } = terminal.buffer
    if (active.type === 'alternate') return false
    start = terminal.registerMarker(-normal.cursorY)
    cleared = { scrolledAway: all || (cleared?.scrolledAway ?? false) }
    return false
  }
  terminal.parser.registerCsiHandler({ final: 'J' }, ([what]) =>
    what === 2 || what === 3 ? clear(what === 3) : false,
  )
  terminal.parser.registerEscHandler({ final: 'c' }, () => clear(false))
  const isFullScreen = () => terminal.buffer.active.type === 'alternate' || modes.takesMouse
  const flood = createFlood(
    (bytes) =>
      new Promise((resolve) =>
        terminal.write(bytes, () => {
          resolve()
          options.onDrawn(cleared)
          cleared = null
        }),
      ),
    () => !isFullScreen(),
  )

  function findCursor(row: number, column: number): Frame['cursor'] {
    if (!modes.showsCursor || row < 0) return null
    return { row, column: Math.min(column, terminal.cols - 1) }
  }

  return {
    modes,
    write: (bytes) => flood.add(bytes),
    settle: () => flood.settle(),
    resize: (toColumns, toRows) => terminal.resize(toColumns, toRows),
    paint() {
      const { active } = terminal.buffer
      const lines = Array.from({ length: terminal.rows }, (_, row) =>
        paintLine(active.getLine(active.baseY + row), terminal.cols, false),
      )
      return { lines, cursor: findCursor(active.cursorY, active.cursorX) }
    },
    tail(wanted) {
      const { normal } = terminal.buffer
      const cursorLine = normal.baseY + normal.cursorY
      let end = normal.length
      const isEmpty = (row: number) => (normal.getLine(row)?.translateToString(true) ?? '') === ''
      while (end > cursorLine + 1 && isEmpty(end - 1)) end--
      // A cursor at the start of an empty line has ended the line above.
      if (end === cursorLine + 1 && normal.cursorX === 0 && isEmpty(end - 1)) end--
      const from = Math.max(start?.line ?? 0, end - wanted, 0)
      const rowsShown = Array.from({ length: end - from }, (_, row) => normal.getLine(from + row))
      return {
        lines: rowsShown.map((line, at) =>
          paintLine(line, terminal.cols, rowsShown[at + 1]?.isWrapped ?? false),
        ),
        wrapped: rowsShown.map((line) => line?.isWrapped ?? false),
        count: rowsShown.filter((line) => !line?.isWrapped).length,
        cursor: findCursor(cursorLine - from, normal.cursorX),
      }
    },
    get isFullScreen() {
      return isFullScreen()
    },
    get isFilled() {
      const { normal } = terminal.buffer
      return normal.baseY > 0 || normal.cursorY >= terminal.rows - ownRows
    },
    get wasCleared() {
      return start !== undefined
    },
    close: () => terminal.dispose(),
  }
}

/**
 * One line of an emulated screen as text with its colours, ready to be written at column 0; `isFull`
 * where the next one goes on with it, so that blanks at its end are text.
 */
function paintLine(line: IBufferLine | undefined, columns: number, isFull: boolean): string {
  let text = ''
  let look = ''
  let cell: IBufferCell | undefined
  for (let column = 0; line && column < Math.min(columns, line.length); column++) {
    cell = line.getCell(column, cell)
    if (!cell || cell.getWidth() === 0) continue
    // A wide character that has no room in the last column leaves it empty.
    if (isFull && column === columns - 1 && cell.getChars() === '') continue
    const next = describe(cell)
    if (next !== look) text += `\u001B[0${next}m`
    look = next
    text += cell.getChars() || ' '
  }
  if (look === '') return isFull ? text : text.trimEnd()
  return `${text}\u001B[0m`
}

/** Parameters of SGR (ECMA-48 8.3.117) that follow a reset. */
function describe(cell: IBufferCell): string {
  const attributes = [
    cell.isBold() && ';1',
    cell.isDim() && ';2',
    cell.isItalic() && ';3',
    cell.isUnderline() && ';4',
    cell.isBlink() && ';5',
    cell.isInverse() && ';7',
    cell.isInvisible() && ';8',
    cell.isStrikethrough() && ';9',
  ]
  const text = attributes.filter((attribute) => typeof attribute === 'string').join('')
  const front = color(3, cell.getFgColor(), cell.isFgPalette(), cell.isFgRGB())
  return text + front + color(4, cell.getBgColor(), cell.isBgPalette(), cell.isBgRGB())
}

function color(ground: 3 | 4, value: number, isPalette: boolean, isRgb: boolean): string {
  if (isPalette) return `;${ground}8;5;${value}`
  if (isRgb) return `;${ground}8;2;${value >> 16};${(value >> 8) & 255};${value & 255}`
  return ''
}

/** Bytes on their way to an emulator that draws slower than a program can write. */
export interface Flood {
  add(bytes: Uint8Array): void
  /** Settles when everything that was added is drawn or skipped. */
  settle(): Promise<void>
}

/** So much of a flood is drawn at its end. */
const keptBytes = 64 * 1024
/** What sets a mode of the terminal or a colour, and what resets all colours. */
const setting = /\u001B\[(?:\?[\d;]*[hl]|[\d;:]*m)/g
const resetting = /\[0*m$/
/** Ends every sequence of a terminal that is not whole (CAN, ECMA-48 8.3.6). */
const cancel = '\u0018'

/** `draw` settles when its bytes are drawn; `mayPass` says whether only the end of the text matters. */
export function createFlood(
  draw: (bytes: Uint8Array) => Promise<void>,
  mayPass: () => boolean,
): Flood {
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let drawing: Promise<void> | null = null

  async function drawAll(): Promise<void> {
    while (waitingBytes > 0) {
      const all = Buffer.concat(waiting)
      wait()
      await draw(all)
    }
    drawing = null
  }

  function wait(...pieces: Buffer[]): void {
    waiting = pieces
    waitingBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
  }

  /** Keeps the end, from the start of a line where it has one, and the settings of what is skipped. */
  function pass(): void {
    const all = Buffer.concat(waiting)
    const newline = all.indexOf(0x0a, all.length - keptBytes)
    let cut = newline < 0 ? all.length - keptBytes : newline + 1
    while (newline < 0 && ((all[cut] ?? 0) & 0xc0) === 0x80) cut++
    const settings = listSettings(all.toString('latin1', 0, cut))
    // What is drawn already may end within a sequence, or a line.
    const border = `${cancel}${settings.join('')}${newline < 0 ? '' : '\r\n'}`
    wait(Buffer.from(border, 'latin1'), all.subarray(cut))
  }

  return {
    add(bytes) {
      if (bytes.length === 0) return
      // The memory belongs to whoever read it.
      waiting.push(Buffer.from(bytes))
      waitingBytes += bytes.length
      if (waitingBytes > 2 * keptBytes && mayPass()) pass()
      if (drawing) return
      drawing = drawAll()
      // Whoever waits in `settle` hears of a failure.
      drawing.catch(() => undefined)
    },
    async settle() {
      while (drawing) await drawing
    },
  }
}

/** What a skipped text has set in the terminal that still holds after it. */
function listSettings(passed: string): string[] {
  const all = passed.includes('\u001B') ? (passed.match(setting) ?? []) : []
  const reset = all.findLastIndex((it) => resetting.test(it))
  return all.filter((it, at) => at >= reset || !it.endsWith('m')).slice(-50)
}
