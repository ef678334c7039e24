import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import xterm from '@xterm/headless'
import * as pty from 'node-pty'
import * as assert from 'uvu/assert'
import { cliCommand } from './cli.ts'

/** nacre, or another program, on a real terminal whose screen can be read. */
export interface Screen {
  type(text: string): void
  /** Settles when the screen shows the text or matches; fails with the screen after `limitMs`. */
  shows(wanted: string | RegExp): Promise<void>
  /** Types, and waits until the screen shows what that is answered with. */
  answers(typed: string, wanted: string | RegExp): Promise<void>
  /** The opposite of `shows`. */
  hides(unwanted: string | RegExp): Promise<void>
  /** What can be seen, blanks at the ends of lines and empty lines at the end left out. */
  text(): string
  /** Also what has scrolled away. */
  all(): string
  /** Settles when it holds of the screen; fails with what `tell` says after `limitMs`. */
  holds(isSo: () => boolean, tell?: () => string): Promise<void>
  /** Around the cursor, lines that the terminal has wrapped as one. */
  page(): Page
  /** Every byte that was written to it. */
  raw(): string
  cursor(): { row: number; column: number }
  /** The palette index of the foreground of the first such text on the screen; -1: the default. */
  colorOf(text: string): number
  resize(columns: number, rows: number): void
  /** As when the window of the terminal is closed. */
  close(): void
  readonly isAlternate: boolean
  readonly showsCursor: boolean
  readonly modes: xterm.IModes
  readonly pid: number
  readonly exited: Promise<{ exitCode: number; signal: number }>
  /** The folder with HOME, state and whatever the test puts there. */
  readonly home: string
}

export interface Page {
  /** All lines above that of the cursor, also what has scrolled away. */
  above: string[]
  line: string
  column: number
  below: string[]
}

export interface ScreenOptions {
  columns?: number
  rows?: number
  /** Lines that are kept when they have scrolled away. */
  scrollback?: number
  env?: Record<string, string>
  /** Words after the program's name. */
  args?: string[]
  /** Another program than nacre. */
  program?: string[]
  /** Puts what the test needs into the folder. */
  prepare?: (home: string) => void
}

/** Far beyond what a screen takes on a busy machine, and below the limit of a test file. */
const limitMs = 30_000

/** Runs a test with a terminal of its own; whatever it has left is ended and removed. */
export async function withScreen(
  options: ScreenOptions,
  use: (screen: Screen) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'nacre-screen-'))
  mkdirSync(join(home, 'code'))
  mkdirSync(join(home, 'tmp'))
  options.prepare?.(home)
  const { columns = 80, rows = 24, scrollback = 1000 } = options
  const [program = '', ...args] = options.program ?? [...cliCommand(), ...(options.args ?? [])]
  const child = pty.spawn(program, args, {
    cols: columns,
    rows,
    cwd: join(home, 'code'),
    name: options.env?.['TERM'] ?? 'xterm-256color',
    env: environmentOf(home, options.env ?? {}),
  })
  const screen = openScreen(child, { columns, rows, scrollback, home })
  try {
    await use(screen)
  } finally {
    if (!screen.hasExited()) {
      child.kill('SIGTERM')
      const kill = setTimeout(() => child.kill('SIGKILL'), graceMs)
      await screen.exited
      clearTimeout(kill)
    }
    screen.dispose()
    // A runtime that has ended may still have written into its cache.
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
  }
}

/** The same, once nacre asks for a line. */
export function atPrompt(
  options: ScreenOptions,
  use: (screen: Screen) => Promise<void>,
): Promise<void> {
  return withScreen(options, async (screen) => {
    await screen.shows('> ')
    await use(screen)
  })
}

/** How long a program may take to end by SIGTERM. */
const graceMs = 10_000

function environmentOf(home: string, env: Record<string, string>): Record<string, string> {
  const { PATH = '/usr/bin:/bin' } = process.env
  return {
    PATH,
    HOME: home,
    PWD: join(home, 'code'),
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    TMPDIR: join(home, 'tmp'),
    NACRE_TEST: home,
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CONFIG_HOME: join(home, 'config'),
    ...env,
  }
}

interface OpenScreen extends Screen {
  hasExited(): boolean
  dispose(): void
}

function openScreen(
  child: pty.IPty,
  {
    columns,
    rows,
    scrollback,
    home,
  }: { columns: number; rows: number; scrollback: number; home: string },
): OpenScreen {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback, allowProposedApi: true })
  let raw = ''
  let exit: { exitCode: number; signal: number } | null = null
  const looks = new Set<() => void>()
  const lookAll = () => {
    for (const look of looks) look()
  }
  // What a terminal answers to a question (where the cursor is, what it can) is typed.
  terminal.onData((data) => exit ?? child.write(data))
  child.onData((data) => {
    raw += data
    terminal.write(data, lookAll)
  })
  const exited = new Promise<{ exitCode: number; signal: number }>((resolve) => {
    child.onExit(({ exitCode, signal = 0 }) => {
      exit = { exitCode, signal }
      terminal.write('', () => {
        lookAll()
        resolve({ exitCode, signal })
      })
    })
  })

  function linesFrom(first: number): string {
    const { active } = terminal.buffer
    const lines: string[] = []
    for (let row = first; row < active.length; row++) {
      lines.push(active.getLine(row)?.translateToString(true) ?? '')
    }
    while (lines.at(-1) === '') lines.pop()
    return lines.join('\n')
  }
  const text = () => linesFrom(terminal.buffer.active.baseY)

  function page(): Page {
    const { active } = terminal.buffer
    const cursorRow = active.baseY + active.cursorY
    const found: { text: string; row: number }[] = []
    for (let row = 0; row < active.length; row++) {
      const line = active.getLine(row)
      const goesOn = active.getLine(row + 1)?.isWrapped ?? false
      const text = line?.translateToString(!goesOn) ?? ''
      const last = found.at(-1)
      if (line?.isWrapped && last) last.text += text
      else found.push({ text, row })
    }
    const at = found.findLastIndex(({ row }) => row <= cursorRow)
    const texts = found.map(({ text }) => text.trimEnd())
    const below = texts.slice(at + 1)
    while (below.at(-1) === '') below.pop()
    return { above: texts.slice(0, at), line: texts[at] ?? '', column: active.cursorX, below }
  }

  function until(holds: () => boolean, tell: () => string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!holds() && !exit) return
        looks.delete(look)
        clearTimeout(limit)
        if (holds()) resolve()
        else reject(new Error(`nacre has ended; ${tell()}:\n${text()}`))
      }
      const limit = setTimeout(() => {
        looks.delete(look)
        reject(new Error(`${tell()}, after ${limitMs} ms:\n${text()}`))
      }, limitMs)
      looks.add(look)
      look()
    })
  }
  const isThere = (wanted: string | RegExp) =>
    typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text())

  const type = (keys: string) => child.write(keys)
  const shows = (wanted: string | RegExp) =>
    until(
      () => isThere(wanted),
      () => `the screen does not show ${String(wanted)}`,
    )

  return {
    home,
    exited,
    text,
    all: () => linesFrom(0),
    raw: () => raw,
    type,
    shows,
    answers(typed, wanted) {
      type(typed)
      return shows(wanted)
    },
    hides: (unwanted) =>
      until(
        () => !isThere(unwanted),
        () => `the screen shows ${String(unwanted)}`,
      ),
    holds: (isSo, tell = () => String(isSo)) => until(isSo, tell),
    page,
    cursor: () => ({ row: terminal.buffer.active.cursorY, column: terminal.buffer.active.cursorX }),
    colorOf(wanted) {
      const { active } = terminal.buffer
      for (let row = active.baseY; row < active.length; row++) {
        const line = active.getLine(row)
        const column = line?.translateToString().indexOf(wanted) ?? -1
        const cell = column < 0 ? undefined : line?.getCell(column)
        if (cell) return cell.isFgPalette() ? cell.getFgColor() : -1
      }
      throw new Error(`${wanted} is not on the screen:\n${text()}`)
    },
    resize(toColumns, toRows) {
      terminal.resize(toColumns, toRows)
      child.resize(toColumns, toRows)
    },
    close: () => child.destroy(),
    get isAlternate() {
      return terminal.buffer.active.type === 'alternate'
    },
    get showsCursor() {
      return raw.lastIndexOf('\u001B[?25h') >= raw.lastIndexOf('\u001B[?25l')
    },
    get modes() {
      return terminal.modes
    },
    pid: child.pid,
    hasExited: () => exit !== null,
    dispose: () => terminal.dispose(),
  }
}

const fixtures = join(import.meta.dirname, '../../fixtures/screens')

/**
 * Waits until the screen is that of `fixtures/screens/<name>.txt`, in which times and ids are placeholders: what
 * is drawn comes in pieces.
 */
export async function assertScreen(screen: Screen, name: string): Promise<void> {
  const expected = readFileSync(join(fixtures, `${name}.txt`), 'utf8')
  const isSame = () => `${settle(screen.text())}\n` === expected
  await screen.holds(isSame).catch(() => undefined)
  assert.fixture(`${settle(screen.text())}\n`, expected)
}

/** What differs from run to run, made the same. */
export function settle(text: string): string {
  return text
    .replaceAll(/ +$/gm, '')
    .replaceAll(/\b\d+(?:\.\d+)? m?s\b/g, '<time>')
    .replaceAll(/\b(run|art)_[a-z2-7]{20}/g, '<$1>')
    .replaceAll(/nacre \d+\.\d+\.\d+/g, 'nacre <version>')
}
