import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { keys } from '../../helpers/keys.ts'
import { type Screen, withScreen } from '../../helpers/screen.ts'
import { findMarked } from '../../helpers/sessions.ts'
import { until } from '../../helpers/until.ts'

/** Where a person may be when nacre is ended: brings the screen there. */
const moments: Record<string, (screen: Screen) => Promise<void>> = {
  'at the start': async (screen) => screen.shows('/help tells'),
  'at the prompt': async (screen) => screen.shows('~/code'),
  async 'in a line'(screen) {
    await screen.shows('~/code')
    screen.type('!echo half a li')
    await screen.shows('half a li')
  },
  async 'with completions open'(screen) {
    await screen.shows('~/code')
    screen.type('/h')
    await screen.shows('what can be typed')
  },
  async 'in a command'(screen) {
    await screen.shows('~/code')
    screen.type('!echo begun; sleep 1000\r')
    await screen.shows('begun\nrunning')
  },
  async 'in a program with mouse and keys of its own'(screen) {
    await screen.shows('~/code')
    screen.type(`!node ${join(import.meta.dirname, '../../../fixtures/programs/show-keys.mjs')}\r`)
    await screen.shows('ready')
  },
  async 'in the viewer'(screen) {
    await screen.shows('~/code')
    screen.type('!seq 1 200\r')
    await screen.shows('✓ exit 0')
    screen.type('v\r')
    await screen.shows('of 200')
  },
  async 'with a job'(screen) {
    await screen.shows('~/code')
    screen.type('!echo begun; sleep 1000\r')
    await screen.shows('begun\nrunning')
    screen.type(keys.ctrl('b'))
    await screen.shows(/%1 \d/)
  },
  async 'in a flood'(screen) {
    await screen.shows('~/code')
    screen.type('!yes flood\r')
    await screen.shows('flood\nflood')
  },
}

const beforeCommands = ['at the start', 'at the prompt', 'in a line', 'with completions open']

/** nacre below a shell that looks at the terminal once nacre is gone. */
function program(): string[] {
  const nacre = cliCommand()
    .map((word) => `'${word}'`)
    .join(' ')
  return [
    'bash',
    '--norc',
    '-c',
    `echo earlier text
    stty -a > before
    sh -c 'echo $$ > pid; exec "$@"' sh ${nacre}
    for try in $(seq 200); do stty -a | cmp -s - before && break; sleep 0.05; done
    stty -a > after
    echo "nacre is gone"
    read -r line
    ${nacre} -c true
    echo "the next one has ended"
    read -r line`,
  ]
}

async function end(signal: NodeJS.Signals, moment: string, afterMs: number): Promise<void> {
  await withScreen({ program: program() }, async (screen) => {
    await moments[moment]?.(screen)
    await delay(afterMs)
    const file = (name: string) => readFileSync(join(screen.home, 'code', name), 'utf8')
    process.kill(Number(file('pid')), signal)
    await screen.shows('nacre is gone')
    assert.is(file('after'), file('before'), 'the modes of the terminal are as before')
    await screen.holds(
      () => {
        const isShown =
          screen.raw().lastIndexOf('\u001B[?25h') > screen.raw().lastIndexOf('\u001B[?25l')
        const { mouseTrackingMode, bracketedPasteMode, applicationCursorKeysMode } = screen.modes
        return (
          !screen.isAlternate &&
          isShown &&
          mouseTrackingMode === 'none' &&
          !bracketedPasteMode &&
          !applicationCursorKeysMode
        )
      },
      () => `the terminal is usable: ${JSON.stringify({ ...screen.modes })}`,
    )
    // The shell that waits here is all that is left.
    await until(
      () => findMarked(screen.home).length === 1,
      () => findMarked(screen.home).join('\n'),
    )
    // Before the first command nobody may watch yet: then the next nacre removes what is left.
    if (signal === 'SIGKILL' && beforeCommands.includes(moment)) {
      screen.type('\r')
      await screen.shows('the next one has ended')
    }
    const tmp = join(screen.home, 'tmp')
    await until(
      () => !existsSync(tmp) || readdirSync(tmp).length === 0,
      () => readdirSync(tmp).join(),
    )
  })
}

for (const moment of Object.keys(moments)) {
  test(`kill -9 ${moment}: the terminal is usable, nothing is left`, () =>
    end('SIGKILL', moment, 0))
}
for (const [signal, moment] of [
  ['SIGHUP', 'with completions open'],
  ['SIGHUP', 'in the viewer'],
  ['SIGTERM', 'at the start'],
  ['SIGTERM', 'with a job'],
] as const) {
  test(`${signal} ${moment}: the terminal is usable, nothing is left`, () => end(signal, moment, 0))
}

/** By hand: so many more, at moments drawn at random. */
const more = Number(process.env['NACRE_TEST_KILLS'] ?? 0)
for (let count = 1; count <= more; count++) {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(Math.random() * items.length)]
  const signal = pick(['SIGKILL', 'SIGHUP', 'SIGTERM'] as const) ?? 'SIGKILL'
  const moment = pick(Object.keys(moments)) ?? ''
  const afterMs = Math.floor(Math.random() * 200)
  test(`${count}: ${signal} ${moment}, after ${afterMs} ms`, () => end(signal, moment, afterMs))
}

test.run()
