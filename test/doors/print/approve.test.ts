import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { withScreen } from '../../helpers/screen.ts'

const command = 'rm -rf $PLACE; echo done'

const answers: [typed: string, runs: boolean, exitCode: number][] = [
  ['yes\r', true, 0],
  ['no\r', false, 126],
  // The end of the input (termios(3), VEOF).
  ['\u0004', false, 126],
]

for (const [typed, runs, exitCode] of answers) {
  test(`a person at the terminal answers the guard with ${JSON.stringify(typed)}`, () =>
    withScreen(
      {
        args: ['-c', command],
        env: { PLACE: 'kept' },
        prepare: (home) => mkdirSync(join(home, 'code', 'kept'), { recursive: true }),
      },
      async (screen) => {
        await screen.shows(`Run ${command} ? (yes · no)`)
        screen.type(typed)
        assert.is((await screen.exited).exitCode, exitCode)
        assert.is(existsSync(join(screen.home, 'code', 'kept')), !runs)
        assert.is(/^done$/m.test(screen.all()), runs)
      },
    ))
}

test('a person answers the guard for a run that another process is to hold', () =>
  withScreen(
    {
      args: ['--wait', '1h', '-c', command],
      env: { PLACE: 'kept' },
      prepare: (home) => mkdirSync(join(home, 'code', 'kept'), { recursive: true }),
    },
    async (screen) => {
      await screen.shows(`Run ${command} ? (yes · no)`)
      screen.type('yes\r')
      assert.is((await screen.exited).exitCode, 0)
      assert.not(existsSync(join(screen.home, 'code', 'kept')))
      assert.match(screen.all(), /^done$/m)
    },
  ))

test('what the guard asks about is shown without what a terminal would act on', () =>
  withScreen({ args: ['-c', 'rm -rf $PLACE #\r\u001B[2Kls'] }, async (screen) => {
    await screen.shows('Run rm -rf $PLACE #  [2Kls ? (yes · no)')
    screen.type('no\r')
    assert.is((await screen.exited).exitCode, 126)
  }))

test('what was typed before the question is no answer', () =>
  withScreen(
    {
      program: ['sh', '-c', 'read -r line; "$@"', 'sh', ...cliCommand(), '-c', command],
      env: { PLACE: 'kept' },
    },
    async (screen) => {
      screen.type('begin\ryes\r')
      await screen.shows('yes · no')
      screen.type('no\r')
      assert.is((await screen.exited).exitCode, 126)
    },
  ))

test('a terminal that has answered goes on to the command', () =>
  withScreen(
    {
      args: ['--pty', '-c', 'rm -rf $PLACE; echo name; read -r line; echo "got $line"'],
      env: { PLACE: 'x' },
    },
    async (screen) => {
      await screen.shows('yes · no')
      await screen.answers('yes\r', /^name/m)
      await screen.answers('hello\r', 'got hello')
      assert.is((await screen.exited).exitCode, 0)
    },
  ))

test.run()
