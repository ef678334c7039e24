import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ListenerAnswer } from '../../../lib/protocol/result/event.ts'
import { createFifoPool } from '../../../lib/run/pipe/fifo.ts'
import { readPipe } from '../../../lib/run/pipe/pipe-reader.ts'

/** Has pipes read as under Deno, where no event loop tells of them. */
async function withPolling(check: () => Promise<void>): Promise<void> {
  Object.defineProperty(globalThis, 'Deno', { value: {}, configurable: true })
  try {
    await check()
  } finally {
    Reflect.deleteProperty(globalThis, 'Deno')
  }
}

async function endEarly(): Promise<void> {
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  process.on('uncaughtException', onError)
  const pipes = createFifoPool()
  const fifo = pipes.open()
  let answer: (answer: ListenerAnswer) => void = () => {}
  let isAsked = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  const reader = readPipe(fifo.readFd, () => {
    isAsked()
    return new Promise<ListenerAnswer>((resolve) => {
      answer = resolve
    })
  })
  writeSync(fifo.writeFd, 'text')
  await asked
  // Whoever listened is gone while the last bytes are on their way to it.
  const drained = reader.drain()
  answer('closed')
  assert.is(await drained, false)
  fifo.release(false)
  reader.leave()
  reader.close()
  // Longer than polling ever pauses.
  await delay(50)
  pipes.close()
  process.off('uncaughtException', onError)
  assert.equal(errors, [])
}

test('a pipe that nobody listens to any more is not read after it was closed', endEarly)

test('nor where it is polled', () => withPolling(endEarly))

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
