import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../../lib/system/programs.ts'
import { keys } from '../../helpers/keys.ts'
import { keepFishQuiet, ownShells } from '../../helpers/own-shell.ts'
import { withScreen } from '../../helpers/screen.ts'
import { isAlive } from '../../helpers/terminal-run.ts'

for (const shell of ownShells) {
  test(`a dumb terminal gets lines without escape sequences, from one shell: ${shell}`, () =>
    withScreen(
      {
        env: { TERM: 'dumb', SHELL: findProgram(shell, process.env['PATH'] ?? '') ?? '' },
        prepare: keepFishQuiet,
      },
      async (screen) => {
        await screen.shows('> ')
        screen.type('!echo wrongg\u007F\r')
        await screen.shows('wrong\n✓ exit 0')
        // Each of them is one key to take back, over two columns or one.
        screen.type('漢字e\u0301\u0015!echo 漢字e\u0301\u007F\u007F\u007F字\r')
        await screen.shows(/\n> !echo 字 *\n字\n✓ exit 0/)
        screen.type('/cd /usr/lib\r!pwd\r')
        await screen.shows('/usr/lib\n✓ exit 0')
        screen.type('hello\r')
        await screen.shows('No model is set')
        screen.type('!\r')
        await screen.shows('bash> ')
        screen.type(shell === 'fish' ? 'set x kept\r' : 'x=kept\r')
        screen.type("sh -c 'echo started; exec sleep 1000'\r")
        await screen.shows(/^started$/m)
        screen.type(keys.ctrl('c'))
        await screen.shows('✗ exit 130')
        screen.type("sh -c 'echo name; read name; echo its $name'\r")
        await screen.shows(/^name$/m)
        screen.type('typed\r')
        await screen.shows('its typed\n✓ exit 0')
        screen.type('exit\r')
        screen.type('!echo "$x $TERM"\r')
        await screen.shows('kept dumb\n✓ exit 0')
        screen.type('!rm -rf ~\r!echo after\r')
        await screen.shows('yes · no ? ')
        screen.type('no\r')
        await screen.shows('✗ denied')
        await screen.shows('after\n✓ exit 0')
        screen.type(keys.ctrl('d'))
        assert.equal(await screen.exited, { exitCode: 0, signal: 0 })
        assert.not.match(screen.raw(), '\u001B')
      },
    ))
}

for (const ending of ['SIGTERM', 'closed'] as const) {
  test(`${ending} in a command ends it, and nacre`, () =>
    withScreen({ env: { TERM: 'dumb' } }, async (screen) => {
      await screen.shows('> ')
      screen.type("!sh -c 'echo begun $$; exec sleep 1000'\r")
      await screen.shows(/^begun \d+$/m)
      const pid = Number(/^begun (\d+)$/m.exec(screen.text())?.[1])
      if (ending === 'closed') screen.close()
      else process.kill(screen.pid, ending)
      await screen.holds(() => !isAlive(screen.pid) && !isAlive(pid))
    }))
}

test.run()
