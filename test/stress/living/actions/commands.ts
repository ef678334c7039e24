import { setTimeout as delay } from 'node:timers/promises'
import { anything, mark, ok, run, say, shows, told, type } from '../checks.ts'
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
      run(world, next(world, 'nosuch'), [
        anything,
        told('✗ exit 127 · <time> (command not found)'),
      ]),
  },
  {
    name: 'pipeline',
    weight: 3,
    act: (world) => run(world, 'seq 1 9 | sort -r | head -n 2', ['9', '8', ok]),
  },
  {
    name: 'no newline at the end',
    weight: 2,
    act: (world) => run(world, 'printf abc', ['abc', ok]),
  },
  {
    name: 'wide characters',
    weight: 2,
    act: (world) => run(world, 'echo "日本語 äöü e\u0301 😀"', ['日本語 äöü e\u0301 😀', ok]),
  },
  {
    name: 'a long line',
    weight: 2,
    async act(world) {
      // It takes two or three rows, which are shown in the smallest window.
      const words = 'word '.repeat(Math.floor(world.columns / 2)).trimEnd()
      await run(world, `echo ${words}`, [words, ok])
      world.last = null
    },
  },
  {
    name: 'progress on one line',
    weight: 2,
    act: (world) => run(world, String.raw`printf '1 %%\r100 %%\rdone \n'`, ['done', ok]),
  },
  {
    name: 'to both streams',
    weight: 1,
    act: (world) => run(world, `sh -c 'echo out; echo err >&2'`, ['out', 'err', ok]),
  },
  {
    name: 'three lines at once',
    weight: 2,
    async act(world) {
      const tokens = ['a', 'b', 'c'].map((letter) => next(world, letter))
      const typed = tokens.map((token) => `${world.bash ? '' : '!'}echo ${token}\r`)
      say(world, typed.join(''))
      await shows(
        world,
        tokens.flatMap((token) => [`! echo ${token}`, token, ok]),
      )
    },
  },
  {
    name: '/again',
    weight: 1,
    may: ({ last }) => last !== null,
    async act(world) {
      const { command, shows: wanted } = world.last ?? { command: '', shows: [] }
      say(world, '/again\r')
      await shows(world, [`${mark(world)} /again`, `! ${command}`, ...wanted])
    },
  },
  {
    name: 'what only tells',
    weight: 2,
    async act(world) {
      const command = world.random.pick(['/help', '/history', '/artifacts', '/guard', '/jobs'])
      say(world, `${command}\r`)
      await shows(world, [`${mark(world)} ${command}`, anything])
    },
  },
  {
    name: '/copy',
    weight: 1,
    async act(world) {
      await run(world, 'seq 3', ['1', '2', '3', ok])
      say(world, '/copy\r')
      await shows(world, [`${mark(world)} /copy`, 'Copied 3 lines.'])
    },
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
