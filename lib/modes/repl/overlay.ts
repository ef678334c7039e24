import { fit, spread, widthOf } from './columns.ts'
import type { Emulator } from './emulator.ts'
import type { Style } from './style.ts'
import type { FullScreen } from './view.ts'

/** The key that leaves a program to itself (Ctrl-], as telnet has it), and its kitty encoding. */
const leaveKeys = ['\u001D', '\u001B[93;5u']

export interface OverlayOptions {
  command: string
  emulator: Emulator
  style: Style
  /** Keys and mouse, as the terminal tells them. */
  onInput: (data: string) => void
  onResize: (columns: number, rows: number) => void
  onLeave: () => void
  /** What the bar adds: `password: …`. */
  note: () => string
}

/** Rows that a program does not get: the bar. */
export const overlayBarRows = 1

/** A program on its terminal, over the whole screen but for the bar below. */
export function createOverlay(options: OverlayOptions): FullScreen {
  const { emulator, style } = options
  let drawn: string[] = []
  return {
    enter: () => emulator.modes.enter(),
    leave: () => emulator.modes.leave(),
    draw(columns, rows, afresh) {
      if (afresh) {
        drawn = []
        const height = Math.max(1, rows - overlayBarRows)
        emulator.resize(columns, height)
        options.onResize(columns, height)
      }
      const help = options.note() || 'Ctrl-] leaves it running'
      const name = fit(` ${options.command}`, Math.max(8, columns - widthOf(help) - 3))
      const bar = style.inverse(spread(name, `${help} `, columns))
      const lines = [...emulator.paint(), bar]
      let text = afresh ? '\u001B[2J' : ''
      for (const [row, line] of lines.entries()) {
        if (line !== drawn[row]) text += `\u001B[${row + 1};1H\u001B[0m\u001B[2K${line}`
      }
      drawn = lines
      const { cursor } = emulator
      const place = cursor ? `\u001B[${cursor.row + 1};${cursor.column + 1}H\u001B[?25h` : ''
      return `\u001B[?2026h\u001B[?25l${text}\u001B[0m${place}\u001B[?2026l`
    },
    input(data) {
      if (leaveKeys.includes(data)) options.onLeave()
      else options.onInput(data)
    },
  }
}
