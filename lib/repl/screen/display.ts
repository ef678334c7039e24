import { nowMs } from '../../system/clock.ts'
import type { Streams } from '../../doors/streams.ts'
import { usualSize } from '../../protocol/limits.ts'
import { createRegion, type Frame } from './region.ts'
import { cutKeys, guardTerminal, hearKeyboard, ownModes, resetModes } from './terminal.ts'
import { wrap } from './text.ts'

/** One thing that draws itself at the bottom of the screen, or on all of it, and takes the keys. */
export interface View {
  render(columns: number, rows: number): Frame
  /** One whole key sequence at a time, unless it takes the bytes as they come. */
  key(data: string): void
  /** Set while it takes the whole screen. */
  readonly wholeScreen?: WholeScreen | null
  /** It is answered by a line that is typed, which needs no screen. */
  readonly asksForLine?: boolean
}

/** How a view has the whole screen. */
export interface WholeScreen {
  /** What to write first, and last: the modes of the terminal that it wants. */
  enter?(): string
  leave?(): string
  /** It takes what the keyboard sends as it comes. */
  isRaw: boolean
}

/** What the screen shows: printed lines, which stay; below them the view on top and the status bar. */
export interface Display {
  readonly columns: number
  readonly rows: number
  /** Prints words of nacre's own for good, above the view and at once; they are wrapped between words. */
  print(lines: readonly string[]): void
  /** Prints what a program or the person wrote; the terminal wraps it, and copies it whole. */
  printWhole(lines: readonly string[]): void
  /** Opens a view on top of the others. Returns what closes it. */
  open(view: View): () => void
  /** Draws the screen again, soon. */
  refresh(): void
  /** Keeps a key for the next view that asks for it: what is typed ahead is not lost. */
  keepKey(data: string): void
  /** Gives the kept keys to the view on top. */
  replayKeys(): void
  /** When the last key came, as nowMs() counts. */
  readonly lastKeyMs: number
  /** It only prints: what was typed stays on it, and no view is drawn. */
  readonly isPlain: boolean
  /** Writes bytes of a program, or modes that it wants, as they are. */
  write(data: string | Uint8Array): Promise<'closed' | void>
  /** Calls a person who looks elsewhere (bell and OSC 9). */
  ring(text: string): void
  /** Puts a text on the clipboard of the person's terminal, if that allows it (OSC 52). */
  copy(text: string): void
  /** Empties the screen; `scrolledAway`: and what the terminal still holds above it. */
  clear(what?: { scrolledAway: boolean }): void
  close(): void
}

export interface DisplayOptions {
  streams: Streams
  statusBar: (columns: number) => string
  onResize: () => void
  onEnd: () => void
}

/** More frames a second are of no use to an eye. */
const frameMs = 16

const alternateScreen = { on: '\u001B[?1049h', off: '\u001B[0m\u001B[?1049l' }
const emptyScreen = '\u001B[0m\u001B[H\u001B[2J'

export function createDisplay(options: DisplayOptions): Display {
  const { streams, statusBar, onResize, onEnd } = options
  const { stdout } = streams
  const dismissGuard = guardTerminal()
  const region = createRegion()
  const views: View[] = []
  let kept: string[] = []
  let whole: WholeScreen | null = null
  /** What stands on the whole screen, in this size of the window. */
  let drawn = { size: '', region: createRegion() }
  let timer: NodeJS.Timeout | null = null
  let soon: NodeJS.Immediate | null = null
  let drawnAtMs = 0
  let printed = ''
  let open = true
  let lastKeyMs = 0

  const write = (text: string) => void stdout.write(text)
  const size = () => stdout.size() ?? usualSize

  function takeKey(data: string): void {
    lastKeyMs = nowMs()
    const view = views.at(-1)
    if (view) view.key(data)
    else kept.push(data)
    if (whole?.isRaw) refresh()
    else draw()
  }

  const keyboard = cutKeys(takeKey)
  const closeKeyboard = hearKeyboard(streams, {
    onData: (data) => (whole?.isRaw ? takeKey(data) : keyboard.process(data)),
    onEnd,
  })
  const stopResize = stdout.onResize(() => {
    onResize()
    draw()
  })
  write(ownModes)

  function draw(): void {
    if (timer) clearTimeout(timer)
    if (soon) clearImmediate(soon)
    timer = null
    soon = null
    if (!open) return
    drawnAtMs = nowMs()
    const { columns, rows } = size()
    const view = views.at(-1)
    giveScreen(view?.wholeScreen ?? null)
    if (view && whole) return write(drawWhole(view.render(columns, rows)))
    const room = Math.max(1, rows - 1)
    const frame = fitFrame(view?.render(columns, room) ?? { lines: [], cursor: null }, room)
    const lines = [...frame.lines, statusBar(columns)]
    const above = printed === '' ? '' : region.erase(columns) + printed
    printed = ''
    write(above + region.draw({ lines, cursor: frame.cursor }, columns))
  }

  function giveScreen(wanted: WholeScreen | null): void {
    if (wanted === whole) return
    const before = whole
    whole = wanted
    drawn.size = ''
    if (before) write((before.leave?.() ?? '') + alternateScreen.off)
    if (wanted) write(alternateScreen.on + (wanted.enter?.() ?? ''))
  }

  function drawWhole(frame: Frame): string {
    const { columns, rows } = size()
    const isFresh = `${columns}x${rows}` !== drawn.size
    if (isFresh) drawn = { size: `${columns}x${rows}`, region: createRegion() }
    return (isFresh ? emptyScreen : '') + drawn.region.draw(fitFrame(frame, rows), columns)
  }

  function refresh(): void {
    timer ??= setTimeout(draw, Math.max(0, frameMs - (nowMs() - drawnAtMs)))
  }

  function printWhole(lines: readonly string[]): void {
    printed += lines.map((line) => `${line}\u001B[0m\r\n`).join('')
    soon ??= setImmediate(draw)
  }

  return {
    isPlain: false,
    write: (data) => stdout.write(data),
    ring(text) {
      const told = text.replaceAll(/[\u0000-\u001F]/g, ' ').slice(0, 200)
      write(`\u0007\u001B]9;${told}\u0007`)
    },
    get lastKeyMs() {
      return lastKeyMs
    },
    get columns() {
      return size().columns
    },
    get rows() {
      return size().rows
    },
    print: (lines) => printWhole(lines.flatMap((line) => wrap(line, size().columns))),
    printWhole,
    open(view) {
      views.push(view)
      refresh()
      return () => {
        const at = views.indexOf(view)
        if (at >= 0) views.splice(at, 1)
        // What is written next belongs to the screen below.
        if (whole) draw()
        else refresh()
      }
    },
    refresh,
    keepKey: (data) => void kept.push(data),
    replayKeys() {
      const view = views.at(-1)
      while (view && kept.length > 0 && views.at(-1) === view) view.key(kept.shift() ?? '')
    },
    copy(text) {
      write(`\u001B]52;c;${Buffer.from(text).toString('base64')}\u0007`)
    },
    clear({ scrolledAway } = { scrolledAway: false }) {
      printed = ''
      drawn.size = ''
      const away = scrolledAway ? '\u001B[3J' : ''
      if (!whole) write(`${region.erase(size().columns)}\u001B[H\u001B[2J${away}`)
      draw()
    },
    close() {
      if (!open) return
      giveScreen(null)
      if (printed !== '') write(region.erase(size().columns) + printed)
      open = false
      if (timer) clearTimeout(timer)
      if (soon) clearImmediate(soon)
      write(region.erase(size().columns))
      keyboard.destroy()
      stopResize()
      write(`${resetModes}\u001B[0m\u001B[?25h`)
      closeKeyboard()
      dismissGuard()
    },
  }
}

/** Shows of a frame that is higher than the window the lines with the cursor. */
function fitFrame({ lines, cursor }: Frame, rows: number): Frame {
  const first = Math.max(0, Math.min((cursor?.row ?? 0) - rows + 1, lines.length - rows))
  return {
    lines: lines.slice(first, first + rows),
    cursor: cursor && { ...cursor, row: cursor.row - first },
  }
}
