import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findProgram } from '../../../lib/system/look.ts'
import { createTestRunner, startTerminal } from '../../helpers/terminal-run.ts'

/** As on a machine without the addon's package. */
const runner = createTestRunner({
  loadCalls() {
    throw new Error('the addon is not there')
  },
})

if (process.platform === 'linux' && findProgram('script', '/usr/bin:/bin')) {
  test('without the addon script(1) makes the terminal, and nothing is lost', async () => {
    const command = 'tty; stty size; echo "it\'s $SHELL"; exec seq 20000'
    const env = { SHELL: '/bin/bash' }
    const run = await startTerminal(command, { runner, env, pty: { columns: 90, rows: 20 } })
    const exit = await run.exited
    assert.is(exit.code, 0)
    assert.match(exit.notices?.join() ?? '', 'the addon is not there')
    assert.match(run.text(), /^\/dev\/\S+\r\n20 90\r\nit's \/bin\/bash\r\n1\r\n/)
    assert.ok(run.text().endsWith('\r\n19999\r\n20000\r\n'))
  })

  test('without the addon input, exit code and stop work', async () => {
    const run = await startTerminal('stty -echo; echo ready; read x; exit $x', { runner })
    await run.shown('ready')
    void run.running.write('7\n')
    assert.is((await run.exited).code, 7)
    const endless = await startTerminal('echo ready; sleep 1000', { runner })
    await endless.shown('ready')
    assert.equal(await endless.running.stop('kill'), { survivors: [] })
    await endless.exited
    const given = { kind: 'text', text: 'given' } as const
    const reader = await startTerminal('stty -echo; cat', { runner, stdin: given })
    assert.is((await reader.exited).code, 0)
    assert.match(reader.text(), /given$/)
  })
} else {
  console.log('SKIP terminals of script(1): it is not installed')
}

test.run()
