import { setTimeout as delay } from 'node:timers/promises'
import { keys } from '../../../helpers/keys.ts'
import { anything, mark, ok, say, shows, type } from '../checks.ts'
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
      await world.screen.holds(() => world.screen.page().line !== mark(world))
      world.screen.type('\r')
      await shows(world, [`! ${command}`, ...wanted])
    },
  },
  {
    name: 'Ctrl-R',
    weight: 2,
    may: ({ last }) => last !== null,
    async act(world) {
      const { command, shows: wanted } = world.last ?? { command: '', shows: [] }
      world.screen.type(keys.ctrl('r'))
      await world.screen.shows('history:')
      world.screen.type(command.slice(0, 30))
      await world.screen.shows(`history: ${command.slice(0, 20)}`)
      world.screen.type('\r')
      await world.screen.hides('history:')
      world.screen.type('\r')
      await shows(world, [`! ${command}`, ...wanted])
    },
  },
  {
    name: 'palette',
    weight: 2,
    async act(world) {
      world.screen.type(keys.ctrl('p'))
      await world.screen.shows('palette:')
      world.screen.type('/guard')
      await world.screen.shows('› /guard')
      say(world, '\r')
      await shows(world, [`${mark(world)} /guard`, anything])
    },
  },
  {
    name: 'completion',
    weight: 3,
    async act(world) {
      const typed = `${world.bash ? '' : '!'}echo ~/code/su`
      say(world, typed)
      await world.screen.shows(typed)
      world.screen.type('\t')
      // What is only suggested stands behind the cursor.
      await world.screen.holds(() => {
        const { line, column } = world.screen.page()
        return line.slice(0, column).endsWith(`${typed}b/`)
      })
      world.screen.type('\r')
      await shows(world, ['! echo ~/code/sub/', `${world.screen.home}/code/sub/`, ok])
    },
  },
  {
    name: 'an unfinished quote',
    weight: 2,
    async act(world) {
      const token = next(world, 'quoted')
      say(world, `${world.bash ? '' : '!'}echo "one\r${token}"\r`)
      await shows(world, ['! echo "one', `  ${token}"`, 'one', token, ok])
    },
  },
  {
    name: 'a here-document',
    weight: 2,
    may: ({ shell }) => shell !== 'fish',
    async act(world) {
      const token = next(world, 'here')
      say(world, `${world.bash ? '' : '!'}cat <<END\r${token}\rEND\r`)
      await shows(world, ['! cat <<END', `  ${token}`, '  END', token, ok])
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
      // What was typed before the question appeared is for the prompt.
      const ahead = world.random.below(2) === 0 ? [next(world, 'yes')] : []
      type(world, command)
      for (const token of ahead) type(world, `echo ${token}`)
      await world.screen.shows('yes (this once)')
      await delay(500)
      world.screen.type('\r')
      await world.screen.shows('Type one of these')
      world.screen.type('no\r')
      const after = ahead.flatMap((token) => [`! echo ${token}`, token, ok])
      await shows(world, [`! ${command}`, anything, '? no', anything, /✗ denied.*/, ...after])
    },
  },
]
