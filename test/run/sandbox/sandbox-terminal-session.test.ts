import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withOwnShell } from '../../helpers/own-shell.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'
import { until } from '../../helpers/until.ts'

const obstacle = await findObstacle()
if (obstacle === null) {
  test('a sandboxed command does not run in a shell that was on its way without one', () =>
    withOwnShell(
      'bash',
      async ({ run, start, directory, home }) => {
        const left = await start('echo begun; read -r line')
        await left.wrote('begun')
        assert.is(spawnSync('mkfifo', [join(home, 'gate')]).status, 0)
        left.detach()
        await until(() => existsSync(join(home, 'held')))
        const running = run('echo x > made', {}, { sandbox: 'read-only' })
        // It is opened for reading too, and held, so that neither end has to wait for the other.
        const held = openSync(join(home, 'held'), 'r+')
        writeSync(held, 'go on\n')
        const result = await running
        closeSync(held)
        assert.is(result.exitCode, 1)
        assert.match(result.output ?? '', /Read-only file system/)
        assert.not(existsSync(join(directory, 'made')))
        await left.write('\r')
        await left.ended
      },
      // Which shell finds the gate is held by it.
      { startFile: 'mv ~/gate ~/held 2>/dev/null && read -r line < ~/held\n' },
    ))

  test('what the command before has exported goes over to a sandboxed shell, also where its prompt is slow', () =>
    withOwnShell(
      'bash',
      async ({ run, other }) => {
        await run('export x=5')
        const { output } = await run('echo "x is $x"', {}, { sandbox: 'read-only' })
        assert.is(output, 'x is 5\n')
        assert.not.match(other(), 'Hangup')
      },
      { startFile: "PROMPT_COMMAND='sleep 0.3'\n" },
    ))
} else console.log(`SKIP a sandboxed command behind another shell's start: ${obstacle}`)

test.run()
