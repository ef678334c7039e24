import xterm from '@xterm/headless'
import { mirrorModes, type MirroredModes } from './mirrored-modes.ts'
import { paintLine } from './paint.ts'

/** A terminal without a screen, which a program on a pty draws on. */
export interface Emulator {
  /** Settles when the bytes are drawn; then their memory is free again. */
  write(bytes: Uint8Array): Promise<void>
  resize(columns: number, rows: number): void
  /** Its screen, line by line. */
  paint(): string[]
  readonly cursor: { row: number; column: number } | null
  /** Whether the program has ever taken the whole screen (the alternate one). */
  readonly wasFullScreen: boolean
  /** The last lines of its text, trailing empty ones left out. */
  lastLines(count: number): string[]
  readonly modes: MirroredModes
  close(): void
}

export interface EmulatorOptions {
  columns: number
  rows: number
  colored: boolean
  /** What the terminal answers to a program's question; typed into the pty. */
  onAnswer: (data: string) => void
  /** For the real terminal, while the program has it. */
  onModes: (text: string) => void
}

export function createEmulator(options: EmulatorOptions): Emulator {
  const { columns, rows, colored } = options
  const terminal = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: 500,
    allowProposedApi: true,
  })
  const modes = mirrorModes(terminal, options.onModes)
  let wasFullScreen = false
  terminal.onData(options.onAnswer)
  terminal.buffer.onBufferChange((buffer) => {
    if (buffer.type === 'alternate') wasFullScreen = true
  })

  return {
    modes,
    write: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    resize: (toColumns, toRows) => terminal.resize(toColumns, toRows),
    paint() {
      const { active } = terminal.buffer
      return Array.from({ length: terminal.rows }, (_, row) =>
        paintLine(active.getLine(active.baseY + row), terminal.cols, colored),
      )
    },
    get cursor() {
      const { cursorX, cursorY } = terminal.buffer.active
      return modes.showsCursor
        ? { row: cursorY, column: Math.min(cursorX, terminal.cols - 1) }
        : null
    },
    get wasFullScreen() {
      return wasFullScreen
    },
    lastLines(count) {
      const { normal } = terminal.buffer
      const lines = Array.from(
        { length: normal.length },
        (_, row) => normal.getLine(row)?.translateToString(true) ?? '',
      )
      while (lines.at(-1) === '') lines.pop()
      return lines.slice(-count)
    },
    close: () => terminal.dispose(),
  }
}
