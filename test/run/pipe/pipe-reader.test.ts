import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, openSync, closeSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readPipe } from '../../../lib/run/pipe/pipe-reader.ts'

test('a pipe whose reader wants no more is not read again when it is left', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pipe-reader-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writing = openSync(path, constants.O_WRONLY)
  let count = 0
  const reader = readPipe(reading, () => {
    count++
    return 'closed'
  })
  writeSync(writing, 'one')
  await reader.drain()
  reader.leave()
  assert.throws(() => writeSync(writing, 'two'), /EPIPE/)
  assert.is(count, 1)
  closeSync(writing)
  rmSync(folder, { recursive: true })
})

test.run()
