import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../lib/system/look.ts'
import { readProcess } from '../../lib/system/process/process-table.ts'
import { keys } from '../helpers/keys.ts'
import { keepFishQuiet, ownShells } from '../helpers/own-shell.ts'
import { type Screen, withScreen } from '../helpers/screen.ts'
import { until } from '../helpers/until.ts'
import { belowShell } from '../stress/living/ending.ts'

/** Commands that leave a program behind on purpose, which writes its number into a file of this name. */
const detaching = {
  nohup: `nohup sh -c 'echo $$ > nohup; exec sleep 1000' >/dev/null 2>&1 &`,
  setsid: `setsid -f sh -c 'echo $$ > setsid; exec sleep 1000'`,
  disown: `sh -c 'echo $$ > disown; exec sleep 1000' & disown`,
}

const numberIn = (screen: Screen, file: string) =>
  Number(readFileSync(join(screen.home, 'code', file), 'utf8'))

function isAlive(pid: number): boolean {
  return readProcess(pid)?.zombie === false
}

/** fish tells of a line that only starts something the status of the one before. */
async function detachAll(screen: Screen): Promise<number[]> {
  const pids: number[] = []
  for (const [name, command] of Object.entries(detaching)) {
    await screen.answers(`!${command}\r`, /[✓✗] exit \d[^]*> ?\n~\/code/)
    await until(() => numberOrNull(screen, name) !== null)
    pids.push(numberIn(screen, name))
    await screen.answers(keys.ctrl('l'), /^> ?\n~\/code/)
  }
  return pids
}

function numberOrNull(screen: Screen, file: string): number | null {
  try {
    return numberIn(screen, file) || null
  } catch {
    return null
  }
}

/** What is meant to live on is ended by the test. */
async function withDetached(screen: Screen, leave: () => Promise<void>): Promise<void> {
  const pids = await detachAll(screen)
  try {
    await leave()
    assert.equal(pids.map(isAlive), [true, true, true], Object.keys(detaching).join(', '))
  } finally {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  }
}

for (const shell of ownShells) {
  const env = { SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '' }
  const options = { env, prepare: keepFishQuiet }

  test(`what a person has detached in ${shell} lives on when they leave, who are not asked`, () =>
    withScreen(options, async (screen) => {
      await screen.shows('~/code')
      await withDetached(screen, async () => {
        screen.type('/quit\r')
        assert.is((await screen.exited).exitCode, 0)
      })
    }))

  test(`leaving asks about what ${shell} has suspended or in the background, and ends it`, () =>
    withScreen(options, async (screen) => {
      await screen.shows('~/code')
      await screen.answers(`!sh -c 'echo $$ > back; exec sleep 1111' &\r`, /[✓✗] exit \d/)
      await screen.answers(`!sh -c 'echo $$ > front; exec sleep 2222'\r`, 'running')
      await until(() => numberOrNull(screen, 'front') !== null)
      await screen.answers(keys.ctrl('z'), 'suspended')
      await screen.answers(
        '/quit\r',
        /sleep 1111[^]*sleep 2222 \(suspended\)|sleep 2222 \(suspended\)[^]*sleep 1111/,
      )
      await screen.shows('Leave all the same?')
      await screen.answers(keys.escape, '? no')
      await screen.answers(keys.ctrl('d'), /\? no[^]*Leave all the same\?[^]*yes · no/)
      const pids = [numberIn(screen, 'back'), numberIn(screen, 'front')]
      assert.equal(pids.map(isAlive), [true, true])
      // Who types on at once has not read the question.
      await delay(500)
      screen.type('yes\r')
      await screen.exited
      await until(() => !pids.some(isAlive))
    }))
}

test('what a person has detached lives on when nacre is killed', () =>
  withScreen({ program: belowShell() }, async (screen) => {
    await screen.shows('~/code')
    await withDetached(screen, async () => {
      await screen.answers(`!sh -c 'echo $$ > inner; exec sleep 1000'\r`, 'running')
      await until(() => numberOrNull(screen, 'inner') !== null)
      process.kill(numberIn(screen, 'pid'), 'SIGKILL')
      await screen.shows('nacre is gone')
      await screen.answers('\r', 'the next one has ended')
      await until(() => !isAlive(numberIn(screen, 'inner')))
    })
  }))

test.run()
