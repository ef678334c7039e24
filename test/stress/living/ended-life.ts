import { setTimeout as delay } from 'node:timers/promises'
import { type Screen, withScreen } from '../../helpers/screen.ts'
import { belowShell, endings, endNacre } from './ending.ts'
import { anything } from './checks.ts'
import { begin, draw, type Life, walk } from './life.ts'
import { chooseSetting, settle } from './setting.ts'
import { createWorld } from './world.ts'

/** So many actions are done to their end, at most. */
const mostActions = 5
/** In that time most actions are in the midst of what they do. */
const latestMs = 600

/**
 * A life in the REPL that is ended at a random moment of a random action. Rejects where the terminal is
 * not usable afterwards, or something is left.
 */
export async function endLife({ shell, seed, onAction }: Omit<Life, 'actions'>): Promise<void> {
  const program = belowShell()
  await withScreen(settle(shell, chooseSetting(seed), { box: null, program }), async (screen) => {
    let isOver = false
    const typing = (keys: string) => {
      if (isOver) throw new Error('nacre has been ended')
      screen.type(keys)
    }
    const typed: Screen = Object.assign(Object.create(screen) as Screen, { type: typing })
    const world = createWorld(typed, { shell, seed, hasBox: false })
    await begin(world, [/nacre .*/, anything])
    await walk(world, { shell, seed, actions: world.random.below(mostActions + 1) })
    const action = draw(world)
    const ending = world.random.pick(endings)
    const afterMs = world.random.below(latestMs)
    const told = `${shell}, seed ${seed}: ${ending} ${afterMs} ms into: ${action.name}`
    onAction?.(told)
    // What it waits for does not come any more.
    const acting = action.act(world).catch(() => undefined)
    await Promise.race([acting, delay(afterMs)])
    isOver = true
    try {
      await endNacre(screen, ending, false)
    } catch (error) {
      throw new Error(`${told}\n${(error as Error).message}`, { cause: error })
    }
  })
}
