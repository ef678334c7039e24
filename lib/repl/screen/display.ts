import { nowMs } from '../../system/clock.ts'
import type { Streams } from '../../doors/streams.ts'
import { wrap } from './columns.ts'
import { createRegion } from './region.ts'
import { openTerminal, type Terminal } from './terminal.ts'
import type { Frame, FullScreen, View } from './view.ts'

/** What the screen shows: printed lines, which stay; below them the view on top and the status bar. */
export interface Display {
  readonly columns: number
  readonly rows: number
  /** Prints words of nacre's own for good, above the view and at once; they are wrapped between words. */
  print(lines: readonly string[]): void
  /** Prints what a program or the person wrote; the terminal wraps it, and copies it whole. */
  printWhole(lines: readonly string[]): void
  /** Opens a view on top of the others. Gives what closes it. */
  open(view: View): () => void
  /** Draws the screen again, soon. */
  refresh(): void
  /** Keeps a key for the next view that asks for it: what is typed ahead is not lost. */
  keepKey(data: string): void
  /** Gives the kept keys to whoever has the screen, or the view on top. */
  replayKeys(): void
  /** Hands the whole screen and the keyboard over. Gives what takes them back. */
  lend(screen: FullScreen): () => void
  /** Whether the person looks at the terminal, as far as it tells. */
  readonly hasFocus: boolean
  /** When the last key came, as nowMs() tells it. */
  readonly lastKeyMs: number
  readonly terminal: Terminal
  /** Puts a text on the clipboard of the person's terminal, where that allows it (OSC 52). */
  copy(text: string): void
  /** Empties the screen; `scrolledAway`: and what the terminal still holds above it. */
  clear(what?: { scrolledAway: boolean }): void
  close(): void
}

export interface DisplayOptions {
  streams: Streams
  statusBar: (columns: number) => string
  onResize: (columns: number, rows: number) => void
  onEnd: () => void
}

/** At most so many frames a second are of use to an eye. */
const frameMs = 16

/** What a terminal sends of its focus when it is asked to (mode 1004 of xterm). */
const focusIn = '\u001B[I'
const focusOut = '\u001B[O'

const alternateScreen = { on: '\u001B[?1049h\u001B[2J\u001B[H', off: '\u001B[?1049l' }

export function createDisplay({ streams, statusBar, onResize, onEnd }: DisplayOptions): Display {
  const region = createRegion()
  const views: View[] = []
  let kept: string[] = []
  let borrower: FullScreen | null = null
  let lentSize = ''
  let timer: NodeJS.Timeout | null = null
  let soon: NodeJS.Immediate | null = null
  let drawnAtMs = 0
  let printed = ''
  let open = true
  let hasFocus = true
  let lastKeyMs = 0

  const terminal = openTerminal(streams, {
    onKey(data) {
      if (data === focusIn || data === focusOut) return void (hasFocus = data === focusIn)
      lastKeyMs = nowMs()
      const view = views.at(-1)
      if (view) view.key(data)
      else kept.push(data)
      draw()
    },
    onResize() {
      onResize(terminal.columns, terminal.rows)
      draw()
    },
    onEnd,
  })

  function draw(): void {
    if (timer) clearTimeout(timer)
    if (soon) clearImmediate(soon)
    timer = null
    soon = null
    if (!open) return
    drawnAtMs = nowMs()
    const { columns, rows } = terminal
    if (borrower) {
      const afresh = `${columns}x${rows}` !== lentSize
      lentSize = `${columns}x${rows}`
      return terminal.write(borrower.draw(columns, rows, afresh))
    }
    const view = views.at(-1)
    const room = Math.max(1, rows - 1)
    const frame = fitFrame(view?.render(columns, room) ?? { lines: [], cursor: null }, room)
    const lines = [...frame.lines, statusBar(columns)]
    const above = printed === '' ? '' : region.erase(columns) + printed
    printed = ''
    terminal.write(above + region.draw({ lines, cursor: frame.cursor }, columns))
  }

  function takeBack(screen: FullScreen): void {
    borrower = null
    terminal.write(`${screen.leave()}\u001B[0m${alternateScreen.off}`)
  }

  function refresh(): void {
    timer ??= setTimeout(draw, Math.max(0, frameMs - (nowMs() - drawnAtMs)))
  }

  function printWhole(lines: readonly string[]): void {
    printed += lines.map((line) => `${line}\u001B[0m\r\n`).join('')
    soon ??= setImmediate(draw)
  }

  return {
    terminal,
    get hasFocus() {
      return hasFocus
    },
    get lastKeyMs() {
      return lastKeyMs
    },
    get columns() {
      return terminal.columns
    },
    get rows() {
      return terminal.rows
    },
    print: (lines) => printWhole(lines.flatMap((line) => wrap(line, terminal.columns))),
    printWhole,
    open(view) {
      views.push(view)
      refresh()
      return () => {
        const at = views.indexOf(view)
        if (at >= 0) views.splice(at, 1)
        refresh()
      }
    },
    refresh,
    keepKey: (data) => void kept.push(data),
    replayKeys() {
      const [screen, view] = [borrower, views.at(-1)]
      while (kept.length > 0 && borrower === screen && views.at(-1) === view) {
        if (screen) screen.input(kept.shift() ?? '')
        else if (view) view.key(kept.shift() ?? '')
        else return
      }
    },
    lend(screen) {
      terminal.setKittyKeys(false)
      terminal.setRaw((data) => {
        screen.input(data)
        refresh()
      })
      terminal.write(alternateScreen.on + screen.enter())
      borrower = screen
      lentSize = ''
      draw()
      return () => {
        if (borrower !== screen) return
        takeBack(screen)
        terminal.setRaw(null)
        terminal.setKittyKeys(true)
        draw()
      }
    },
    copy(text) {
      terminal.write(`\u001B]52;c;${Buffer.from(text).toString('base64')}\u0007`)
    },
    clear({ scrolledAway } = { scrolledAway: false }) {
      printed = ''
      if (borrower) {
        lentSize = ''
        return draw()
      }
      const away = scrolledAway ? '\u001B[3J' : ''
      terminal.write(`${region.erase(terminal.columns)}\u001B[H\u001B[2J${away}`)
      draw()
    },
    close() {
      if (!open) return
      if (printed !== '') draw()
      open = false
      if (timer) clearTimeout(timer)
      if (soon) clearImmediate(soon)
      if (borrower) takeBack(borrower)
      terminal.write(region.erase(terminal.columns))
      terminal.restore()
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
