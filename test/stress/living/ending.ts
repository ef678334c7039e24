import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import type { Screen } from '../../helpers/screen.ts'
import { findMarked } from '../../helpers/sessions.ts'
import { until } from '../../helpers/until.ts'
import { findLeftovers } from '../leftovers.ts'
import { findByWords } from '../processes.ts'

/** How a nacre that did not want to is ended: by a signal, or with the window of its terminal. */
export const endings = ['SIGKILL', 'SIGHUP', 'SIGTERM', 'closed'] as const
export type Ending = (typeof endings)[number]

/** nacre below a shell that looks at the terminal once nacre is gone, and then starts the next one. */
export function belowShell(): string[] {
  const nacre = cliCommand()
    .map((word) => `'${word}'`)
    .join(' ')
  return [
    'bash',
    '--norc',
    '-c',
    `stty -g > before
    sh -c 'echo $$ > pid; exec "$@"' sh ${nacre}
    for try in $(seq 200); do stty -g | cmp -s - before && break; sleep 0.05; done
    stty -g > after
    echo "nacre is gone"
    read -r line
    ${nacre} --timeout 60 -c true
    echo "the next one has ended"
    read -r line`,
  ]
}

/**
 * Ends the nacre of such a screen, and checks that the terminal is usable and that nothing is left.
 * `next`: what it leaves is for the next one to remove, since nobody may watch it yet.
 */
export async function endNacre(screen: Screen, ending: Ending, next: boolean): Promise<void> {
  const file = (name: string) => readFileSync(join(screen.home, 'code', name), 'utf8')
  const pid = Number(file('pid'))
  if (ending === 'SIGKILL' && !next) {
    await until(
      () => findByWords(`\0reap\0${pid}:`).length > 0,
      () => 'nothing watches nacre',
    )
  }
  if (ending === 'closed') screen.close()
  else process.kill(pid, ending)
  if (ending !== 'closed') {
    await screen.shows('nacre is gone')
    assert.is(file('after'), file('before'), 'the modes of the terminal are as before')
    await screen.holds(
      () => isUsable(screen),
      () => `the terminal is usable: ${JSON.stringify({ ...screen.modes })}`,
    )
  }
  // The shell that waits here is all that is left.
  const waiting = ending === 'closed' ? 0 : 1
  await until(
    () => findMarked(screen.home).length === waiting,
    () => findMarked(screen.home).join('\n'),
  )
  if (next && ending !== 'closed') {
    await screen.answers('\r', 'the next one has ended')
  }
  await until(
    () => findLeftovers(pid, screen.home).length === 0,
    () => findLeftovers(pid, screen.home).join('\n'),
  )
}

function isUsable(screen: Screen): boolean {
  const { mouseTrackingMode, bracketedPasteMode, applicationCursorKeysMode } = screen.modes
  const { sendFocusMode } = screen.modes
  return (
    screen.showsCursor &&
    !screen.isAlternate &&
    mouseTrackingMode === 'none' &&
    !bracketedPasteMode &&
    !applicationCursorKeysMode &&
    !sendFocusMode
  )
}
