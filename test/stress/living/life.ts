import { setTimeout as delay } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import type { ShellName } from '../../helpers/own-shell.ts'
import { withScreen } from '../../helpers/screen.ts'
import type { Server } from '../../helpers/ssh-host.ts'
import { until } from '../../helpers/until.ts'
import { findMarked } from '../../helpers/sessions.ts'
import { findLeftovers } from '../leftovers.ts'
import { commands } from './actions/commands.ts'
import { elsewhere } from './actions/elsewhere.ts'
import { interrupts } from './actions/interrupts.ts'
import { jobs } from './actions/jobs.ts'
import { lines } from './actions/lines.ts'
import { programs } from './actions/programs.ts'
import { shocks } from './actions/shocks.ts'
import { state } from './actions/state.ts'
import { anything, ok, type Pattern, shows, type } from './checks.ts'
import { chooseSetting, settle } from './setting.ts'
import { type Action, createWorld, type World } from './world.ts'

/** A life in the REPL: actions drawn at random from what people do, and what the screen must show then. */
export interface Life {
  shell: ShellName
  seed: number
  actions: number
  /** A host to go to by ssh. */
  box?: Server | null
  /** Draws those whose name contains it. */
  only?: string
  /** Hears what is done, before it is done. */
  onAction?: (told: string) => void
}

const actions: readonly Action[] = [
  ...commands,
  ...state,
  ...lines,
  ...interrupts,
  ...jobs,
  ...programs,
  ...elsewhere,
  ...shocks,
]

/** Rejects at the first wrong screen, and where something is left at the end; says after which actions. */
export async function live(life: Life): Promise<void> {
  const left: string[] = []
  const { shell, seed, box = null } = life
  await withScreen(settle(shell, chooseSetting(seed), { box }), async (screen) => {
    const world = createWorld(screen, { shell, seed, hasBox: box !== null })
    await begin(world, [/nacre .*/, anything])
    await walk(world, life)
    await leave(world)
    // The one that ends what nacre leaves has heard of its end, and goes in its own time.
    const isReaper = (line: string) => / reap \d+:/.test(line)
    await until(
      () => !findMarked(screen.home).some(isReaper),
      () => findMarked(screen.home).join('\n'),
    )
    left.push(...findLeftovers(screen.pid, screen.home), ...findMarked(screen.home))
  })
  assert.equal(left, [], 'something is left')
}

/** Settles when the shell is up and has said what it had to say. */
export async function begin(world: World, greeting: Pattern[]): Promise<void> {
  await shows(world, greeting)
  type(world, 'true')
  await shows(world, [anything, '! true', anything, ok])
}

/** Does so many actions, and rejects with what went wrong after which of them. */
export async function walk(world: World, life: Life): Promise<void> {
  const { shell, seed, actions: count, only = '', onAction } = life
  const told: string[] = []
  for (let at = 1; at <= count; at++) {
    const action = draw(world, only)
    told.push(`${at} ${action.name}`)
    onAction?.(`${at} ${action.name}`)
    try {
      await action.act(world)
    } catch (error) {
      const before = told.slice(-8).join('\n  ')
      throw new Error(`${shell}, seed ${seed}, after\n  ${before}\n${(error as Error).message}`, {
        cause: error,
      })
    }
  }
}

async function leave({ screen, jobs: left }: World): Promise<void> {
  screen.type('/quit\r')
  if (left.length > 0) {
    await screen.shows('Leave all the same?')
    await delay(500)
    screen.type('yes\r')
  }
  const { exitCode } = await screen.exited
  assert.is(exitCode, 0)
}

export function draw(world: World, only = ''): Action {
  const possible = actions.filter(
    ({ name, may }) => name.includes(only) && (may === undefined || may(world)),
  )
  const sum = possible.reduce((total, { weight }) => total + weight, 0)
  let left = world.random.below(sum)
  for (const action of possible) {
    left -= action.weight
    if (left < 0) return action
  }
  throw new RangeError('no action is possible')
}
