import { closeSync, openSync, readdirSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createFifoPool } from '../../../lib/run/pipe/fifo.ts'
import { sealStdin } from '../../../lib/run/sandbox/sandbox-stdin.ts'

const countOpen = () => readdirSync('/proc/self/fd').length

if (process.platform === 'linux') {
  test('an input that cannot be handed in leaves no descriptor open', async () => {
    const pipes = createFifoPool()
    const before = countOpen()
    const fd = openSync(process.execPath, 'r')
    const lost = { ...pipes, open: () => ({ ...pipes.open(), path: '/nacre/nowhere' }) }
    try {
      await sealStdin({ kind: 'descriptor', fd }, lost)
      assert.unreachable()
    } catch (error) {
      assert.match(String(error), 'ENOENT')
    } finally {
      closeSync(fd)
      pipes.close()
    }
    assert.is(countOpen(), before)
  })
}

test.run()
