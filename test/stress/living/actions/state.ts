import { mark, maybe, ok, run, say, shows, told } from '../checks.ts'
import { type Action, loseShell, next, type World } from '../world.ts'

const places = ['code', 'code/sub', 'code/with space'] as const

/** What a shell keeps from line to line, also when it is followed by another one. */
export const state: readonly Action[] = [
  {
    name: 'set a variable',
    weight: 4,
    async act(world) {
      const value = next(world, 'v')
      await run(world, world.say.set(value), [ok])
      world.variable = value
    },
  },
  {
    name: 'look at the variable',
    weight: 6,
    act: (world) => run(world, world.say.get, [`x is ${world.variable}`.trimEnd(), ok]),
  },
  {
    name: 'export',
    weight: 2,
    async act(world) {
      const value = next(world, 'e')
      await run(world, `export E=${value}`, [ok])
      world.exported = value
    },
  },
  {
    name: 'look at what is exported',
    weight: 3,
    act: (world) => run(world, `sh -c 'echo "E is $E"'`, [`E is ${world.exported}`.trimEnd(), ok]),
  },
  {
    name: 'define a function and an alias',
    weight: 2,
    async act(world) {
      const value = next(world, 'f')
      await run(world, world.say.define(value), [ok])
      await run(world, `alias hey='echo alias ${value}'`, [ok])
      world.defined = value
    },
  },
  {
    name: 'call the function and the alias',
    weight: 4,
    may: ({ defined }) => defined !== '',
    async act(world) {
      await run(world, 'hey you', [`alias ${world.defined} you`, ok])
      await run(world, 'f me', [`function ${world.defined} me`, ok])
    },
  },
  {
    name: 'change the directory',
    weight: 5,
    async act(world) {
      const place = world.random.pick(places)
      const path = `${world.screen.home}/${place}`
      await run(world, `cd "${path}"`, [ok], () => (world.place = place))
    },
  },
  {
    name: '/cd',
    weight: 2,
    async act(world) {
      const place = world.random.pick(places)
      const path = `~/${place.replace(' ', '\\ ')}`
      say(world, `/cd ${path}\r`)
      world.place = place
      await shows(world, [`${mark(world)} /cd ${path}`, `! cd ${path}`, ok])
    },
  },
  {
    name: 'pwd',
    weight: 4,
    act: (world) => run(world, 'pwd', [`${world.screen.home}/${world.place}`, ok]),
  },
  {
    name: 'another kind of terminal',
    weight: 1,
    act: (world) => run(world, 'export TERM=xterm; echo $TERM', ['xterm', ok]),
  },
  {
    name: 'a command kills the shell',
    weight: 1,
    act: (world) => endShell(world, world.say.die, 'SIGKILL'),
  },
  {
    name: 'exec',
    weight: 1,
    // Shells do not leave suspended programs at the first word.
    may: ({ suspended }) => suspended.length === 0,
    act: (world) => endShell(world, `exec sh -c 'exit 3'`, 'exit 3'),
  },
  {
    name: 'exit',
    weight: 1,
    may: ({ suspended }) => suspended.length === 0,
    act: (world) => endShell(world, 'exit 3', 'exit 3'),
  },
  {
    name: 'somebody kills the shell',
    weight: 1,
    async act(world) {
      await run(world, world.say.pid, [/pid \d+/, ok])
      const told = world.screen.all().matchAll(/^pid (\d+)$/gm)
      const pid = Number([...told].at(-1)?.[1])
      process.kill(pid, 'SIGKILL')
      await shows(world, [ended('SIGKILL')])
      loseShell(world)
    },
  },
]

async function endShell(world: World, command: string, how: string): Promise<void> {
  await run(world, command, [
    maybe('exit'),
    // fish tells the end of the command before its own.
    new RegExp(`${ended(how).source}\n✗ ${how} · <time>|✗ ${how} · <time>\n${ended(how).source}`),
  ])
  loseShell(world)
}

function ended(how: string): RegExp {
  return told(`Your shell has ended (${how}); the next line gets a new one`)
}
