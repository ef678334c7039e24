import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ok, run, running, say, shows, type } from '../checks.ts'
import { keys } from '../../../helpers/keys.ts'
import { type Action, resize } from '../world.ts'

/** What programs ask of their terminal, and do not take back: colours, no cursor, the mouse, other keys. */
const spoils = [
  String.raw`printf '\033[31m\033[?25l'`,
  String.raw`printf '\033[?1h\033='`,
  String.raw`printf '\033[?2004h'`,
]

/** What befalls the terminal. */
export const shocks: readonly Action[] = [
  {
    name: 'resize',
    weight: 6,
    async act(world) {
      resize(world)
      await delay(50)
      await shows(world, [])
    },
  },
  {
    name: 'resize while a program runs',
    weight: 2,
    async act(world) {
      const command = `${world.say.read}; sh ~/fits`
      type(world, command)
      await running(world)
      resize(world)
      // The size goes one way and what is typed another: the program alone knows when it has the first.
      const size = `${world.rows} ${world.columns}`
      const fits = `until [ "$(stty size)" = "${size}" ]; do sleep 0.05; done; echo fits\n`
      writeFileSync(join(world.screen.home, 'fits'), fits)
      world.screen.type('there\r')
      await shows(world, [`! ${command}`, /(?:read> )?there/, 'got there', 'fits', ok])
    },
  },
  {
    name: 'a program leaves its terminal spoiled',
    weight: 2,
    async act(world) {
      const spoil = world.random.pick(spoils)
      await run(world, spoil, [ok])
    },
  },
  {
    name: 'empty the screen',
    weight: 2,
    async act(world) {
      const way = world.random.pick(['/clear\r', keys.ctrl('l'), 'clear'])
      if (way === 'clear') type(world, way)
      else say(world, way)
      await world.screen.holds(() => world.screen.cursor().row === 0)
      world.seen = world.screen.page().above.length
      await shows(world, [])
    },
  },
]
