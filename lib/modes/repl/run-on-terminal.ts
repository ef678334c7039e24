import type { RequestInput } from '../../protocol/request.ts'
import type { Result } from '../../protocol/result.ts'
import type { Executor, Run, RunOptions } from '../../executor/executor.ts'
import type { Display } from './display.ts'
import { createEmulator } from './emulator.ts'
import { createOverlay, overlayBarRows } from './overlay.ts'
import type { Style } from './style.ts'

/** A program that has a terminal, whether or not somebody looks at it. */
export interface TerminalRun {
  readonly id: string
  readonly command: string
  readonly ended: Promise<Result>
  /** Lines that stay on the screen after the end: none of a program that took the whole screen. */
  remains(count: number): string[]
  /** Shows it until it ends, or until it is left running: null. */
  attach(): Promise<Result | null>
}

export interface TerminalRunParts {
  start: Executor['start']
  display: Display
  style: Style
  colored: boolean
}

/** How long output has to pause before the bar looks what the program waits for. */
const settledMs = 150

/**
 * Starts a command on a pty drawn by an emulator. Gives the result alone where it ended before its
 * start (denied, not started).
 */
export async function runOnTerminal(
  input: RequestInput,
  parts: TerminalRunParts,
  options: RunOptions,
): Promise<TerminalRun | Result> {
  const { display, style } = parts
  const rows = Math.max(1, display.rows - overlayBarRows)
  const size = { columns: display.columns, rows }
  let attached = false
  let note = ''
  let timer: NodeJS.Timeout | null = null
  let run: Run | null = null
  const emulator = createEmulator({
    ...size,
    colored: parts.colored,
    onAnswer: type,
    onModes: (text) => attached && display.terminal.write(text),
  })

  run = await parts.start(
    { ...input, pty: true, ...size },
    {
      ...options,
      async onEvent(event) {
        if (event.type !== 'output') return
        await emulator.write(event.bytes)
        if (!attached) return
        note = ''
        timer ??= setTimeout(look, settledMs)
        display.refresh()
      },
    },
  )
  const { id, ended } = run

  /** What is typed when the program has just ended goes nowhere. */
  function type(data: string): void {
    run?.write(data).catch(() => undefined)
  }

  function look(): void {
    timer = null
    if (!attached) return
    note = run?.look().waitingForInput === 'password' ? 'password: neither shown nor kept' : ''
    display.refresh()
  }

  if (run.pid === null) {
    emulator.close()
    return run.result
  }
  void ended.then(() => timer && clearTimeout(timer))

  return {
    id,
    command: run.request.command,
    ended,
    remains: (count) => (emulator.wasFullScreen ? [] : emulator.lastLines(count)),
    async attach() {
      let leave = () => {}
      const left = new Promise<null>((resolve) => {
        leave = () => {
          run.detach()
          resolve(null)
        }
      })
      const overlay = createOverlay({
        command: run.request.command,
        emulator,
        style,
        onInput: type,
        onResize: (columns, toRows) => run.resize(columns, toRows),
        onLeave: () => leave(),
        note: () => note,
      })
      const takeBack = display.lend(overlay)
      attached = true
      try {
        return await Promise.race([ended, left])
      } finally {
        attached = false
        takeBack()
      }
    },
  }
}
