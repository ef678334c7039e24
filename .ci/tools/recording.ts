/**
 * Draws the recording of the REPL that the README shows: `npm run recording`. nacre runs on a real
 * terminal, the keys below are typed, and what the screen shows becomes an animated SVG, which needs
 * neither a script nor a font of its own.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import xterm from '@xterm/headless'
import * as pty from 'node-pty'
import { drawAnimation, type Frame, readRow } from './animation.ts'

const root = join(import.meta.dirname, '..', '..')
const output = join(root, 'lib/repl/recording.svg')
const size = { columns: 84, rows: 22 }
const limitMs = 15_000
/** Between two keys of somebody who types, and before what was shown has been read. */
const keyMs = 55
const readMs = 1600

interface Step {
  keys: string
  /** What the screen shows before it goes on. */
  shows: string | RegExp
  readMs?: number
}

/** DECTCEM */
const cursorMode = 25
const controlB = '\u0002'

const scene: readonly Step[] = [
  { keys: '!grep -n --color=auto TODO *.sh\r', shows: /✓ exit 0/ },
  { keys: '!sh test.sh\r', shows: /✗ exit 1/ },
  { keys: '!\r', shows: 'bash>', readMs: 300 },
  { keys: 'cd src && greeting=hello\r', shows: /src[^]*✓ exit 0/, readMs: 500 },
  { keys: 'echo "$greeting from ${PWD##*/}"\r', shows: /hello from src\s+✓/ },
  { keys: 'seq 1 5000\r', shows: /5000\s+artifact/, readMs: 900 },
  { keys: 'sleep 60\r', shows: 'sleep 60', readMs: 700 },
  { keys: controlB, shows: /%1/, readMs: 1200 },
  { keys: '/kill %1\r', shows: /stopped/ },
  { keys: 'rm -rf $BUILD_DIR\r', shows: /once\) · no/, readMs: 2200 },
  { keys: 'no\r', shows: /bash>\s+\[BASH\]/ },
]

/** A folder with a small repository, in which the scene plays. */
function prepareHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'nacre-recording-'))
  const project = join(home, 'project')
  mkdirSync(join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'add.sh'), 'add() { echo $(($1 - $2)); } # TODO: add\n')
  writeFileSync(
    join(project, 'test.sh'),
    '. ./add.sh\n[ "$(add 2 3)" = 5 ] || { echo "add 2 3 is $(add 2 3)" >&2; exit 1; }\n',
  )
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: project })
  return home
}

/** Plays the scene on a terminal and keeps every change of its screen. */
async function record(): Promise<{ frames: Frame[]; endMs: number }> {
  const home = prepareHome()
  const child = pty.spawn(process.execPath, [join(root, 'bin/nacre.js')], {
    cols: size.columns,
    rows: size.rows,
    cwd: join(home, 'project'),
    name: 'xterm-256color',
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: home,
      PWD: join(home, 'project'),
      SHELL: '/bin/bash',
      LANG: 'C.UTF-8',
    },
  })
  const terminal = new xterm.Terminal({
    cols: size.columns,
    rows: size.rows,
    allowProposedApi: true,
  })
  let showsCursor = true
  for (const final of ['h', 'l']) {
    terminal.parser.registerCsiHandler({ prefix: '?', final }, (modes) => {
      if (modes.includes(cursorMode)) showsCursor = final === 'h'
      return false
    })
  }
  const frames: Frame[] = []
  const startedMs = performance.now()
  let written = () => {}
  const keep = () => {
    const { active } = terminal.buffer
    const rows = Array.from({ length: size.rows }, (_, row) =>
      readRow(
        active.getLine(active.baseY + row),
        showsCursor && row === active.cursorY ? active.cursorX : null,
      ),
    )
    frames.push({ atMs: performance.now() - startedMs, rows })
    written()
  }
  terminal.onData((data) => child.write(data))
  child.onData((data) => terminal.write(data, keep))

  async function waitFor(wanted: string | RegExp): Promise<void> {
    const overMs = performance.now() + limitMs
    for (;;) {
      const text = (frames.at(-1)?.rows ?? []).map((row) => row.text).join('\n')
      if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return
      if (performance.now() > overMs) throw new Error(`not shown: ${String(wanted)}\n${text}`)
      await Promise.race([new Promise<void>((resolve) => (written = resolve)), delay(1000)])
    }
  }

  try {
    await waitFor('> ')
    await delay(readMs)
    for (const step of scene) {
      for (const key of step.keys) {
        child.write(key)
        await delay(key === '\r' ? keyMs * 4 : keyMs)
      }
      await waitFor(step.shows)
      await delay(step.readMs ?? readMs)
    }
    return { frames, endMs: performance.now() - startedMs }
  } finally {
    child.kill('SIGTERM')
    terminal.dispose()
    rmSync(home, { recursive: true, force: true })
  }
}

const { frames, endMs } = await record()
writeFileSync(output, drawAnimation(frames, { ...size, endMs }))
