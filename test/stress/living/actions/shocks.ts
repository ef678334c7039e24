import { setTimeout as delay } from 'node:timers/promises'
import { anything, ok, run, running, shows, type } from '../checks.ts'
import { type Action, loseShell, resize } from '../world.ts'

/** What befalls the terminal and the shell. */
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
      const command = `${world.say.read}; stty size`
      type(world, command)
      await running(world)
      resize(world)
      await delay(50)
      world.screen.type('there\r')
      // A terminal that wraps the line of the running command anew may leave it above.
      await shows(world, [
        `! ${command}`,
        anything,
        /.*there/,
        'got there',
        `${world.rows} ${world.columns}`,
        ok,
      ])
    },
  },
  {
    name: 'a command kills the shell',
    weight: 1,
    async act(world) {
      await run(world, world.say.die, [
        anything,
        /Your shell has ended \(SIGKILL\).*/,
        /✗ SIGKILL · <time>/,
      ])
      loseShell(world)
    },
  },
  {
    name: 'somebody kills the shell',
    weight: 1,
    async act(world) {
      await run(world, world.say.pid, [/pid \d+/, ok])
      const told = world.screen.all().matchAll(/^pid (\d+)$/gm)
      const pid = Number([...told].at(-1)?.[1])
      process.kill(pid, 'SIGKILL')
      await shows(world, [/Your shell has ended \(SIGKILL\).*/])
      loseShell(world)
    },
  },
]
