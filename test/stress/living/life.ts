import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as assert from 'uvu/assert'
import { findProgram } from '../../../lib/system/programs.ts'
import { keepFishQuiet, type ShellName } from '../../helpers/own-shell.ts'
import { type Screen, withScreen } from '../../helpers/screen.ts'
import { findMarked } from '../../helpers/sessions.ts'
import { commands } from './actions/commands.ts'
import { interrupts } from './actions/interrupts.ts'
import { jobs } from './actions/jobs.ts'
import { lines } from './actions/lines.ts'
import { programs } from './actions/programs.ts'
import { shocks } from './actions/shocks.ts'
import { anything, ok, shows, type } from './checks.ts'
import { type Action, createWorld, type World } from './world.ts'

/** A life in the REPL: actions drawn at random from what people do, and what the screen must show then. */
export interface Life {
  shell: ShellName
  seed: number
  actions: number
  /** Draws those whose name contains it. */
  only?: string
  /** Hears what is done, before it is done. */
  onAction?: (told: string) => void
}

const actions: readonly Action[] = [
  ...commands,
  ...lines,
  ...interrupts,
  ...jobs,
  ...programs,
  ...shocks,
]

/** Rejects at the first wrong screen, and where something is left at the end; says after which actions. */
export async function live(life: Life): Promise<void> {
  let left: string[] = []
  await withScreen(
    {
      columns: 80,
      rows: 24,
      scrollback: 100_000,
      env: { SHELL: findProgram(life.shell, process.env['PATH'] ?? '') ?? '' },
      prepare(home) {
        for (const folder of ['code/sub', 'code/with space', 'tmp']) {
          mkdirSync(join(home, folder), { recursive: true })
        }
        keepFishQuiet(home)
      },
    },
    async (screen) => {
      await walk(screen, life)
      // fish keeps a folder of its own there.
      const files = readdirSync(join(screen.home, 'tmp')).filter(
        (name) => !name.startsWith('fish.'),
      )
      left = [...files, ...findMarked(screen.home)]
    },
  )
  assert.equal(left, [], 'something is left')
}

async function walk(
  screen: Screen,
  { shell, seed, actions: count, only = '', onAction }: Life,
): Promise<void> {
  const world = createWorld(screen, shell, seed)
  const told: string[] = []
  await shows(world, [/nacre .*/])
  // Its shell is up then, and has said what it had to say.
  type(world, 'true')
  await shows(world, [anything, '! true', anything, ok])
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
  await leave(world)
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

function draw(world: World, only: string): Action {
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
