import { setTimeout as delay } from 'node:timers/promises'
import { keys } from '../../../helpers/keys.ts'
import { anything, ok, say, shows, type } from '../checks.ts'
import { type Action, next } from '../world.ts'

/** The line itself: its modes, what is typed and not run, what is repeated, what has many lines. */
export const lines: readonly Action[] = [
  {
    name: 'bash mode',
    weight: 4,
    may: ({ bash }) => !bash,
    async act(world) {
      const way = world.random.pick(['!', '/bash'])
      world.bash = true
      say(world, `${way}\r`)
      await shows(world, way === '!' ? [] : ['> /bash'])
    },
  },
  {
    name: 'leave bash mode',
    weight: 3,
    may: ({ bash }) => bash,
    async act(world) {
      world.bash = false
      world.screen.type(world.random.pick(['exit\r', 'quit\r', keys.escape, keys.ctrl('d')]))
      await shows(world, [])
    },
  },
  {
    name: 'Ctrl-C on a line',
    weight: 2,
    async act(world) {
      const token = next(world, 'junk')
      world.screen.type(token)
      await world.screen.shows(token)
      world.screen.type(keys.ctrl('c'))
      await world.screen.hides(token)
      await shows(world, [])
    },
  },
  {
    name: 'Ctrl-C on an empty line',
    weight: 1,
    async act(world) {
      world.screen.type(keys.ctrl('c'))
      await shows(world, [/.* leaves (?:bash mode|nacre)\./])
    },
  },
  {
    name: 'Up and Enter',
    weight: 3,
    may: ({ last }) => last !== null,
    async act(world) {
      const { command, shows: wanted } = world.last ?? { command: '', shows: [] }
      world.screen.type(keys.up)
      await world.screen.shows(command)
      world.screen.type('\r')
      await shows(world, [`! ${command}`, ...wanted])
    },
  },
  {
    name: 'a loop over lines',
    weight: 2,
    async act(world) {
      const [first, ...rest] = world.say.loop
      world.screen.type(`${world.bash ? '' : '!'}${world.say.loop.join('\r')}\r`)
      await shows(world, [`! ${first}`, ...rest.map((line) => `  ${line}`), 'a', 'b', ok])
      world.last = null
    },
  },
  {
    name: 'paste',
    weight: 2,
    async act(world) {
      const token = next(world, 'pasted')
      world.screen.type(keys.paste(`${world.bash ? '' : '!'}echo 1 ${token}\necho 2 ${token}`))
      await world.screen.shows(`echo 2 ${token}`)
      world.screen.type('\r')
      await shows(world, [`! echo 1 ${token}`, `  echo 2 ${token}`, `1 ${token}`, `2 ${token}`, ok])
      world.last = null
    },
  },
  {
    name: 'to the model, of which there is none',
    weight: 1,
    may: ({ bash }) => !bash,
    async act(world) {
      const token = next(world, 'hello')
      say(world, `${token}\r`)
      await shows(world, [`> ${token}`, /.*No model is set[^]*/])
    },
  },
  {
    name: 'the guard asks',
    weight: 1,
    async act(world) {
      const command = `rm -rf $${next(world, 'NOPE')}`
      type(world, command)
      await world.screen.shows('yes (this once)')
      await delay(500)
      world.screen.type('no\r')
      await shows(world, [`! ${command}`, anything, '? no', anything, /✗ denied.*/])
    },
  },
]
