import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { keys } from '../../../helpers/keys.ts'
import { anything, mark, ok, running, say, shows, told, type } from '../checks.ts'
import { type Action, leaveShell, next, takeJob } from '../world.ts'

/** Commands that go on in the background. */
export const jobs: readonly Action[] = [
  {
    name: 'Ctrl-B',
    weight: 4,
    may: ({ jobs, suspended }) => jobs.length < 4 && suspended.length === 0,
    async act(world) {
      const name = next(world, 'f')
      const fifo = join(world.screen.home, name)
      execFileSync('mkfifo', [fifo])
      const command = `sh -c 'read l < ~/${name}; echo heard $l'`
      type(world, command)
      await running(world)
      world.screen.type(keys.ctrl('b'))
      const number = ++world.jobCount
      world.jobs.push({ number, command, fifo })
      leaveShell(world)
      await shows(world, [
        `! ${command}`,
        new RegExp(`\\[%${number}\\] goes on in the background[^]*?stops it`),
      ])
    },
  },
  {
    name: 'a job goes on to its end',
    weight: 3,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = takeJob(world)
      await writeFile(job.fifo, 'go\n')
      await shows(world, [told(`[%${job.number}] ${job.command}  ${ok}`)])
      say(world, `/view %${job.number}\r`)
      await world.screen.shows('heard go\n')
      world.screen.type('q')
      await shows(world, [`${mark(world)} /view %${job.number}`])
    },
  },
  {
    name: '/kill',
    weight: 2,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = takeJob(world)
      say(world, `/kill %${job.number}\r`)
      await shows(world, [
        `${mark(world)} /kill %${job.number}`,
        told(`[%${job.number}] ${job.command}  ✗ stopped · <time>`),
      ])
    },
  },
  {
    name: '/attach and leave again',
    weight: 2,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = world.random.pick(world.jobs)
      say(world, `/attach %${job.number}\r`)
      await running(world)
      world.screen.type(keys.ctrl('b'))
      await shows(world, [
        `${mark(world)} /attach %${job.number}`,
        `! ${job.command}`,
        new RegExp(`\\[%${job.number}\\] goes on after .*`),
      ])
    },
  },
  {
    name: '/view -f',
    weight: 1,
    may: ({ jobs }) => jobs.length > 0,
    async act(world) {
      const job = world.random.pick(world.jobs)
      say(world, `/view -f %${job.number}\r`)
      await world.screen.holds(() => world.screen.isAlternate)
      await world.screen.shows('follows')
      world.screen.type('q')
      await shows(world, [`${mark(world)} /view -f %${job.number}`])
    },
  },
  {
    name: '/jobs',
    weight: 2,
    async act(world) {
      say(world, '/jobs\r')
      await shows(world, [`${mark(world)} /jobs`, anything])
      for (const { number } of world.jobs) {
        assert.match(world.screen.all(), new RegExp(`%${number}  running`))
      }
    },
  },
]
