import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { keys } from '../../../helpers/keys.ts'
import { anything, maybe, ok, running, shows, type } from '../checks.ts'
import { type Action, next, type World } from '../world.ts'

/** zsh 5.9 says 2 where it interrupted itself. */
const interrupted = /✗ exit (?:130|2) · <time>.*/

/** Keys that stop, suspend and go on. */
export const interrupts: readonly Action[] = [
  {
    name: 'Ctrl-C on a program',
    weight: 4,
    async act(world) {
      const { command, token } = await beginToSleep(world)
      const pressed = await interrupt(world)
      await shows(world, [`! ${command}`, token, '^C'.repeat(pressed), interrupted])
    },
  },
  {
    name: 'Ctrl-C at once',
    weight: 3,
    async act(world) {
      const token = next(world, 'begun')
      const command = `sleep 300; echo not-${token}`
      type(world, command)
      const pressed = await interrupt(world)
      await shows(world, [
        `! ${command}`,
        new RegExp(
          `✗ cancelled before it began|\\n?✗ stopped · <time>|(?:\\^C){${pressed}}\n${interrupted.source}`,
        ),
      ])
    },
  },
  {
    name: 'Ctrl-C, often, on a program that ignores it',
    weight: 1,
    async act(world) {
      const token = next(world, 'deaf')
      const command = `sh -c 'trap "" INT; echo ${token}; read -r line'`
      type(world, command)
      await world.screen.shows(new RegExp(`^${token}\n(?:.*\n)*running`, 'm'))
      for (let time = 0; time < 5; time++) world.screen.type(keys.ctrl('c'))
      await world.screen.shows('/kill ends it')
      world.screen.type('\r')
      await shows(world, [`! ${command}`, anything, ok])
    },
  },
  {
    name: 'Ctrl-\\ on a program',
    weight: 1,
    async act(world) {
      const { command, token } = await beginToSleep(world)
      // The shell itself ignores the key, and it may not have started the program yet.
      await delay(300)
      world.screen.type('\u001C')
      await shows(world, [`! ${command}`, token, anything, /✗ exit 131 · <time>[^]*?/])
    },
  },
  {
    name: 'Esc on a program',
    weight: 1,
    async act(world) {
      const { command, token } = await beginToSleep(world)
      const pressed = await interrupt(world, keys.escape)
      await shows(world, [`! ${command}`, token, '^C'.repeat(pressed), interrupted])
    },
  },
  {
    name: 'suspend',
    weight: 3,
    // zsh, which is given a line by `eval`, changes the order of the others where one of three has ended.
    may: ({ shell, suspended }) => suspended.length < (shell === 'zsh' ? 2 : 3),
    async act(world) {
      const sink = next(world, 'sink')
      const command = `cat > ~/${sink}`
      type(world, command)
      await running(world)
      world.screen.type(`one ${sink}\r`)
      await world.screen.shows(`\none ${sink}`)
      world.screen.type(keys.ctrl('z'))
      world.suspended.push(sink)
      await shows(world, [
        `! ${command}`,
        `one ${sink}`,
        anything,
        '… suspended · <time> · !fg goes on',
      ])
    },
  },
  {
    name: 'fg',
    weight: 4,
    may: ({ suspended }) => suspended.length > 0,
    async act(world) {
      const sink = world.suspended.pop() ?? ''
      type(world, 'fg')
      await running(world)
      world.screen.type(`two ${sink}\r`)
      await world.screen.shows(`\ntwo ${sink}`)
      world.screen.type(keys.ctrl('d'))
      // zsh tells so of each of its jobs.
      const places = maybe(/\(pwd now: .*\)(?:\n\(pwd now: .*\))*/)
      await shows(world, ['! fg', anything, `two ${sink}`, places, ok])
      const written = readFileSync(join(world.screen.home, sink), 'utf8')
      assert.is(written, `one ${sink}\ntwo ${sink}\n`)
    },
  },
]

/** Types a command that sleeps behind a word, which it has written by then. */
async function beginToSleep(world: World): Promise<{ command: string; token: string }> {
  const token = next(world, 'begun')
  const command = `echo ${token}; sleep 300`
  type(world, command)
  await world.screen.shows(new RegExp(`^${token}\n(?:.*\n)*running`, 'm'))
  return { command, token }
}

/**
 * A shell that is just about to start a program can miss an interrupt: a person presses the key again.
 * Gives how often it was pressed.
 */
async function interrupt({ screen }: World, key = keys.ctrl('c')): Promise<number> {
  screen.type(key)
  for (let tries = 0; tries < 50; tries++) {
    await delay(100)
    if (!screen.text().includes('/kill ends it')) return 1
  }
  screen.type(key)
  return 2
}
