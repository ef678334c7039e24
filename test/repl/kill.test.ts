import { join } from 'node:path'
import { test } from 'uvu'
import { keys } from '../helpers/keys.ts'
import { type Screen, withScreen } from '../helpers/screen.ts'
import { belowShell, type Ending, endNacre } from '../stress/living/ending.ts'

/** Where a person may be when nacre is ended: brings the screen there. */
const moments: Record<string, (screen: Screen) => Promise<void>> = {
  'at the start': async (screen) => screen.shows('/help tells'),
  'at the prompt': async (screen) => screen.shows('~/code'),
  async 'in a line'(screen) {
    await screen.shows('~/code')
    await screen.answers('!echo half a li', 'half a li')
  },
  async 'with completions open'(screen) {
    await screen.shows('~/code')
    await screen.answers('/h', 'what to type')
  },
  async 'in a command'(screen) {
    await screen.shows('~/code')
    await screen.answers('!echo begun; sleep 1000\r', 'begun\nrunning')
  },
  async 'in a program with mouse and keys of its own'(screen) {
    await screen.shows('~/code')
    screen.type(`!node ${join(import.meta.dirname, '../../fixtures/programs/show-keys.mjs')}\r`)
    await screen.shows('ready')
  },
  async 'in the viewer'(screen) {
    await screen.shows('~/code')
    await screen.answers('!seq 1 200\r', '✓ exit 0')
    await screen.answers('v\r', 'of 200')
  },
  async 'with a job'(screen) {
    await screen.shows('~/code')
    await screen.answers('!echo begun; sleep 1000\r', 'begun\nrunning')
    await screen.answers(keys.ctrl('b'), /%1 \d/)
  },
  async 'in a flood'(screen) {
    await screen.shows('~/code')
    await screen.answers('!yes flood\r', 'flood\nflood')
  },
}

const beforeCommands = ['at the start', 'at the prompt', 'in a line', 'with completions open']

/** `next`: before its first command nobody may watch a nacre yet. */
function end(ending: Ending, moment: string): Promise<void> {
  return withScreen({ program: belowShell() }, async (screen) => {
    await moments[moment]?.(screen)
    await endNacre(screen, ending, ending === 'SIGKILL' && beforeCommands.includes(moment))
  })
}

for (const moment of Object.keys(moments)) {
  test(`kill -9 ${moment}: the terminal is usable, nothing is left`, () => end('SIGKILL', moment))
}
for (const [signal, moment] of [
  ['SIGHUP', 'with completions open'],
  ['SIGHUP', 'in the viewer'],
  ['SIGTERM', 'at the start'],
  ['SIGTERM', 'with a job'],
  ['closed', 'in a command'],
] as const) {
  test(`${signal} ${moment}: the terminal is usable, nothing is left`, () => end(signal, moment))
}

test.run()
