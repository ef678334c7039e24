import type { Emulator } from './emulator.ts'
import type { FullScreen } from './view.ts'

/** The key that leaves a program to itself (Ctrl-], as telnet has it), and its kitty encoding. */
const leaveKeys = ['\u001D', '\u001B[93;5u']

export interface OverlayOptions {
  emulator: Emulator
  /** Keys and mouse, as the terminal tells them. */
  onInput: (data: string) => void
  onLeave: () => void
}

/** A program that takes the whole screen, on the whole screen. */
export function createOverlay({ emulator, ...options }: OverlayOptions): FullScreen {
  let drawn: string[] = []
  return {
    enter: () => emulator.modes.enter(),
    leave: () => emulator.modes.leave(),
    draw(_columns, _rows, afresh) {
      if (afresh) drawn = []
      const lines = emulator.paint()
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
