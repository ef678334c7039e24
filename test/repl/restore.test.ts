import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand, cliRuntime } from '../helpers/cli.ts'
import { keys } from '../helpers/keys.ts'
import { type Screen, withScreen } from '../helpers/screen.ts'

/** nacre under a shell that tells how it has ended and what the terminal's modes were and are. */
function shellOptions(): { program: string[] } {
  const nacre = cliCommand()
    .map((word) => `'${word}'`)
    .join(' ')
  const script = `
    echo earlier text
    stty -a > before
    sh -c 'echo $$ > pid; exec "$@"' sh ${nacre}
    status=$?
    stty -a > after
    echo "ended with $status"
    read -r line`
  return { program: ['bash', '--norc', '-c', script] }
}

async function checkRestored(screen: Screen, status: number): Promise<void> {
  await screen.shows(`ended with ${status}`)
  const read = (name: string) => readFileSync(join(screen.home, 'code', name), 'utf8')
  assert.is(read('after'), read('before'), 'the modes of the terminal are as before')
  assert.not.ok(screen.isAlternate)
  assert.not.ok(screen.modes.bracketedPasteMode)
  assert.not.ok(screen.modes.applicationCursorKeysMode)
  assert.is(screen.modes.mouseTrackingMode, 'none')
  assert.match(screen.text(), 'earlier text')
  assert.ok(screen.showsCursor, 'the cursor is shown')
  const [, rest = ''] = screen.text().split('/help tells what to type')
  assert.not.match(rest, '~/code', 'the status bar is gone')
}

function pidOf({ home }: Screen): number {
  return Number(readFileSync(join(home, 'code/pid'), 'utf8'))
}

test('nothing is left on the terminal after /quit', () =>
  withScreen(shellOptions(), async (screen) => {
    await screen.shows('~/code')
    await screen.answers('!echo shown\r', '✓ exit 0')
    screen.type('/quit\r')
    await checkRestored(screen, 0)
    assert.match(screen.text(), 'shown\n✓ exit 0')
  }))

test('Ctrl-D on an empty line ends nacre', () =>
  withScreen(shellOptions(), async (screen) => {
    await screen.shows('~/code')
    screen.type(keys.ctrl('d'))
    await checkRestored(screen, 0)
  }))

test('nothing is left after kill -TERM at the prompt', () =>
  withScreen(shellOptions(), async (screen) => {
    await screen.shows('~/code')
    process.kill(pidOf(screen), 'SIGTERM')
    await checkRestored(screen, 143)
  }))

test('nothing is left after kill -TERM while a command runs', () =>
  withScreen(shellOptions(), async (screen) => {
    await screen.shows('~/code')
    await screen.answers('!echo started; exec sleep 1000\r', 'started\nrunning')
    process.kill(pidOf(screen), 'SIGTERM')
    await checkRestored(screen, 143)
  }))

test('nothing is left after kill -TERM in the overlay of a program with mouse and keys of its own', () =>
  withScreen(shellOptions(), async (screen) => {
    const program = join(import.meta.dirname, '../../fixtures/programs/show-keys.mjs')
    await screen.shows('~/code')
    await screen.answers(`!node ${program}\r`, 'ready')
    assert.is(screen.modes.mouseTrackingMode, 'any')
    process.kill(pidOf(screen), 'SIGTERM')
    await checkRestored(screen, 143)
  }))

test('nothing is left after a crash, and it is told', async () => {
  // Nothing gets into the executable from outside, so that no fault can be put there.
  if (cliRuntime() === 'bun') return console.log('SKIP a crash: the executable loads nothing else')
  await withScreen(
    {
      ...shellOptions(),
      prepare: (home) =>
        writeFileSync(
          join(home, 'crash.cjs'),
          "process.on('SIGUSR2', () => { throw new Error('a fault of its own') })\n",
        ),
      env: { NODE_OPTIONS: '--require ../crash.cjs' },
    },
    async (screen) => {
      await screen.shows('~/code')
      await screen.answers('!vi', '!vi')
      process.kill(pidOf(screen), 'SIGUSR2')
      await checkRestored(screen, 125)
      assert.match(screen.text(), 'nacre: internal error: a fault of its own')
    },
  )
})

test('without a terminal it says to use --print', async () => {
  const { runCli } = await import('../helpers/run-cli.ts')
  const { status, stderr } = await runCli([])
  assert.is(status, 125)
  assert.match(stderr.toString(), '--print')
})

test.run()
