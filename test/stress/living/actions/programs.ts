import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { keys } from '../../../helpers/keys.ts'
import { anything, ok, run, running, say, shows, type } from '../checks.ts'
import { type Action, next, resize } from '../world.ts'

const fixtures = join(import.meta.dirname, '../../../../fixtures/programs')

/** Programs that read keys, or take the screen. */
export const programs: readonly Action[] = [
  {
    name: 'vim',
    weight: 2,
    async act(world) {
      const file = next(world, 'text')
      const command = `vim -u NONE -N ~/${file}`
      type(world, command)
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows(`${file}" [New`)
      world.screen.type(`iwritten`)
      await world.screen.shows('written')
      if (world.random.below(2) === 0) {
        resize(world)
        await delay(100)
      }
      world.screen.type(keys.escape)
      await delay(100)
      world.screen.type(`:wq\r`)
      await shows(world, [`! ${command}`, ok])
      assert.is(readFileSync(join(world.screen.home, file), 'utf8'), 'written\n')
    },
  },
  {
    name: 'less',
    weight: 2,
    async act(world) {
      type(world, 'seq 1 500 | less')
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows(/^1\n2\n/)
      world.screen.type('G')
      await world.screen.shows(/\n500\n/)
      world.screen.type('q')
      await shows(world, ['! seq 1 500 | less', ok])
    },
  },
  {
    name: 'python3',
    weight: 2,
    async act(world) {
      type(world, 'python3 -q')
      await world.screen.shows(/^>>>/m)
      const number = (world.count += 1)
      world.screen.type(`print(${number} * 1000)\r`)
      await world.screen.shows(`\n${number * 1000}\n`)
      world.screen.type(keys.ctrl('d'))
      await shows(world, [
        '! python3 -q',
        `>>> print(${number} * 1000)`,
        `${number * 1000}`,
        />>> ?/,
        ok,
      ])
    },
  },
  {
    name: 'read',
    weight: 3,
    async act(world) {
      const token = next(world, 'word')
      type(world, world.say.read)
      await running(world)
      world.screen.type(`${token}\r`)
      await shows(world, [`! ${world.say.read}`, new RegExp(`.*${token}`), `got ${token}`, ok])
    },
  },
  {
    name: 'a paste for a program',
    weight: 2,
    async act(world) {
      const token = next(world, 'pasted')
      type(world, world.say.read)
      await running(world)
      world.screen.type(keys.paste(`${token} text`))
      await world.screen.shows(`${token} text`)
      world.screen.type('\r')
      await shows(world, [
        `! ${world.say.read}`,
        new RegExp(`(?:read> )?${token} text`),
        `got ${token} text`,
        ok,
      ])
    },
  },
  {
    name: 'a secret',
    weight: 2,
    async act(world) {
      const command = join(fixtures, 'ask-password.sh')
      type(world, command)
      await world.screen.shows('a secret is not shown')
      world.screen.type('secret\r')
      await shows(world, [`! ${command}`, /Password: ?/, '6 characters', ok])
      assert.not.match(world.screen.all(), 'secret\n')
    },
  },
  {
    name: 'a program with mouse and keys of its own',
    weight: 2,
    async act(world) {
      const command = `node ${join(fixtures, 'show-keys.mjs')}`
      type(world, command)
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows('ready')
      world.screen.type('x')
      await world.screen.shows('"x"')
      world.screen.type('q')
      await shows(world, [`! ${command}`, 'ready', '"x"', ok])
    },
  },
  {
    name: 'top',
    weight: 1,
    async act(world) {
      type(world, 'top')
      await world.screen.shows(/PID +USER/)
      await delay(300)
      world.screen.type('q')
      // It has emptied the screen.
      world.seen = 0
      await shows(world, [anything, ok])
    },
  },
  {
    name: 'long output and the viewer',
    weight: 3,
    async act(world) {
      const count = 300 + world.random.below(50)
      const shown = Math.max(3, world.rows - 6)
      const lines = Array.from({ length: shown }, (_, at) => String(count - shown + at + 1))
      await run(world, `seq 1 ${count}`, [
        `… ${count - shown} earlier lines · v shows all`,
        ...lines,
        anything,
        ok,
      ])
      world.last = null
      say(world, 'v\r')
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows(`of ${count}`)
      if (world.random.below(2) === 0) {
        resize(world)
        await delay(50)
      }
      world.screen.type('?^4.$\r')
      await world.screen.shows(/^49\n/)
      world.screen.type('n')
      await world.screen.shows(/^48\n/)
      world.screen.type('g')
      await world.screen.shows(/^1\n2\n3\n/)
      world.screen.type('q')
      await world.screen.holds(() => !world.screen.isAlternate)
      await shows(world, [])
    },
  },
]
