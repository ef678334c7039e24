import { setTimeout as delay } from 'node:timers/promises'
import { anything, mark, ok, run, say, shows, type } from '../checks.ts'
import { type Action, next } from '../world.ts'

/** What is typed and ends by itself. */
export const commands: readonly Action[] = [
  {
    name: 'echo',
    weight: 12,
    async act(world) {
      const token = next(world, 'tok')
      await run(world, `echo ${token}`, [token, ok])
    },
  },
  {
    name: 'fail',
    weight: 3,
    act: (world) => run(world, world.say.fail, ['✗ exit 3 · <time>']),
  },
  {
    name: 'not found',
    weight: 2,
    act: (world) =>
      run(world, next(world, 'nosuch'), [anything, '✗ exit 127 · <time> (command not found)']),
  },
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
    weight: 8,
    act: (world) => run(world, world.say.get, [`x is ${world.variable}`.trimEnd(), ok]),
  },
  {
    name: 'change the directory',
    weight: 5,
    async act(world) {
      const place = world.random.pick(['code', 'code/sub', 'code/with space'])
      const path = `${world.screen.home}/${place}`
      await run(world, `cd "${path}"`, [ok], () => (world.place = place))
    },
  },
  {
    name: '/cd',
    weight: 2,
    async act(world) {
      const place = world.random.pick(['code', 'code/sub', 'code/with space'])
      say(world, `/cd ~/${place.replace(' ', '\\ ')}\r`)
      world.place = place
      const path = `~/${place.replace(' ', '\\ ')}`
      await shows(world, [`${mark(world)} /cd ${path}`, `! cd ${path}`, ok])
    },
  },
  {
    name: 'pwd',
    weight: 4,
    act: (world) => run(world, 'pwd', [`${world.screen.home}/${world.place}`, ok]),
  },
  {
    name: 'a flood',
    weight: 1,
    async act(world) {
      const shown = Math.max(3, world.rows - 6)
      const lines = Array.from({ length: shown }, () => 'flood')
      await run(world, 'yes flood | head -n 100000', [
        /… [\d,]+ earlier lines · v shows all/,
        ...lines,
        /artifact:[^]*?B/,
        ok,
      ])
      world.last = null
    },
  },
  {
    name: 'a job of the shell',
    weight: 2,
    async act(world) {
      const token = next(world, 'late')
      type(world, `sh -c 'sleep 0.2; echo ${token}' &`)
      await world.screen.shows(`\n${token}\n`)
      // zsh and fish tell of its end when it comes, bash before its next prompt.
      await delay(200)
      world.screen.type(`${world.bash ? '' : '!'}true\r`)
      await shows(world, [
        `! sh -c 'sleep 0.2; echo ${token}' &`,
        anything,
        '! true',
        anything,
        ok,
        anything,
      ])
      await delay(200)
      world.seen = world.screen.page().above.length
    },
  },
  {
    name: 'type ahead',
    weight: 4,
    async act(world) {
      const token = next(world, 'ahead')
      const bang = world.bash ? '' : '!'
      type(world, 'sleep 0.3')
      world.screen.type(`${bang}echo ${token}\r`)
      await shows(world, ['! sleep 0.3', ok, `! echo ${token}`, token, ok])
    },
  },
]
