import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../lib/system/look.ts'
import { keys } from '../helpers/keys.ts'
import { ownShells, writeStartFile } from '../helpers/own-shell.ts'
import { atPrompt } from '../helpers/screen.ts'
import { isAlive } from '../helpers/terminal-run.ts'

for (const shell of ownShells) {
  test(`a dumb terminal gets lines without escape sequences, from one shell: ${shell}`, () =>
    atPrompt(
      {
        env: { TERM: 'dumb', SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '' },
        prepare: (home) => writeStartFile(home, shell, ''),
      },
      async (screen) => {
        await screen.answers('!echo wrongg\u007F\r', 'wrong\n✓ exit 0')
        // Each of them is one key to take back, over two columns or one.
        screen.type('漢字e\u0301\u0015!echo 漢字e\u0301\u007F\u007F\u007F字\r')
        await screen.shows(/\n> !echo 字 *\n字\n✓ exit 0/)
        await screen.answers('/cd /usr/lib\r!pwd\r', '/usr/lib\n✓ exit 0')
        await screen.answers('hello\r', 'No model is set')
        await screen.answers('!\r', 'bash> ')
        screen.type(shell === 'fish' ? 'set x kept\r' : 'x=kept\r')
        await screen.answers("sh -c 'echo started; exec sleep 1000'\r", /^started$/m)
        await screen.answers(keys.ctrl('c'), '✗ exit 130')
        await screen.answers("sh -c 'echo name; read name; echo its $name'\r", /^name$/m)
        await screen.answers('typed\r', 'its typed\n✓ exit 0')
        screen.type('exit\r')
        await screen.answers('!echo "$x $TERM"\r', 'kept dumb\n✓ exit 0')
        await screen.answers('!rm -rf ~\r!echo after\r', 'yes (this once)')
        await screen.shows('\n? ')
        // Who answers at once has not read the question.
        await delay(500)
        await screen.answers('no\r', '✗ denied')
        await screen.shows('after\n✓ exit 0')
        await screen.answers('!seq 3\r', '3\n✓ exit 0')
        await screen.answers('/view\r', /\/view *\n1\n2\n3\n> /)
        await screen.answers(
          '/copy\r',
          /\/copy *\nA terminal that only prints has no clipboard\.\n> /,
        )
        await screen.answers('/jobs\r', 'No jobs.')
        screen.type(keys.ctrl('d'))
        assert.equal(await screen.exited, { exitCode: 0, signal: 0 })
        assert.not.match(screen.raw(), '\u001B')
      },
    ))
}

for (const ending of ['SIGTERM', 'closed'] as const) {
  test(`${ending} in a command ends it, and nacre`, () =>
    atPrompt({ env: { TERM: 'dumb' } }, async (screen) => {
      await screen.answers("!sh -c 'echo begun $$; exec sleep 1000'\r", /^begun \d+$/m)
      const pid = Number(/^begun (\d+)$/m.exec(screen.text())?.[1])
      if (ending === 'closed') screen.close()
      else process.kill(screen.pid, ending)
      await screen.holds(() => !isAlive(screen.pid) && !isAlive(pid))
    }))
}

test.run()
