import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withOwnShell } from '../../helpers/own-shell.ts'
import { findObstacle } from '../../helpers/sandbox-places.ts'

const obstacle = await findObstacle()
if (obstacle === null) {
  test('a sandboxed command does not run in a shell that was on its way without one', () =>
    withOwnShell(
      'bash',
      async ({ run, start, directory }) => {
        const left = await start('echo begun; read -r line')
        await left.wrote('begun')
        left.detach()
        const result = await run('echo x > made', {}, { sandbox: 'read-only' })
        assert.is(result.exitCode, 1)
        assert.match(result.output ?? '', /Read-only file system/)
        assert.not(existsSync(join(directory, 'made')))
        await left.write('\r')
        await left.ended
      },
      { startFile: 'sleep 0.3\n' },
    ))
} else console.log(`SKIP a sandboxed command behind another shell's start: ${obstacle}`)

test.run()
