import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keys } from '../../helpers/keys.ts'
import { withScreen } from '../../helpers/screen.ts'

test('a dumb terminal gets lines without escape sequences', () =>
  withScreen({ env: { TERM: 'dumb' } }, async (screen) => {
    await screen.shows('> ')
    screen.type('!echo wrongg\u007F\r')
    await screen.shows('wrong\n✓ exit 0')
    screen.type('/cd /usr/lib\r!pwd\r')
    await screen.shows('/usr/lib\n✓ exit 0')
    screen.type('hello\r')
    await screen.shows('No model is set')
    screen.type('!echo started; exec sleep 1000\r')
    await screen.shows(/^started$/m)
    screen.type(keys.ctrl('c'))
    await screen.shows('✗ stopped')
    screen.type('!rm -rf ~\r')
    await screen.shows('✗ denied')
    screen.type(keys.ctrl('d'))
    assert.equal(await screen.exited, { exitCode: 0, signal: 0 })
    assert.not.match(screen.raw(), '\u001B')
  }))

test.run()
