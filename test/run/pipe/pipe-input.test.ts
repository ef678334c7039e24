import { closeSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createFifoPool, type FifoPool } from '../../../lib/run/pipe/fifo.ts'
import { createPipeInput } from '../../../lib/run/pipe/pipe-input.ts'
import { runProgram } from '../../helpers/run-program.ts'

const test = suite<{ pipes: FifoPool }>('pipe input')
test.before.each((context) => {
  context.pipes = createFifoPool()
})
test.after.each(({ pipes }) => pipes.close())

test('everything arrives in order, more than the pipe holds, then its end', async ({ pipes }) => {
  const { readFd, writeFd } = pipes.openInput()
  const reading = runProgram('cat', [], { stdio: [readFd, 'pipe', 'inherit'] })
  closeSync(readFd)
  const input = createPipeInput(writeFd)
  const parts = Array.from({ length: 40 }, (_, index) => `${index}:`.padEnd(20_000, 'é'))
  const written = parts.map((part) => input.write(part))
  input.end()
  await Promise.all(written)
  assert.ok((await reading).stdout.toString() === parts.join(''))
})

test('a full pipe holds the writer up until it is read', async ({ pipes }) => {
  const { readFd, writeFd } = pipes.openInput()
  const input = createPipeInput(writeFd)
  let taken = false
  const drained = input.write('x'.repeat(200_000)).then(() => {
    taken = true
  })
  await delay(20)
  assert.not.ok(taken)
  input.end()
  const reading = runProgram('wc', ['-c'], { stdio: [readFd, 'pipe', 'inherit'] })
  closeSync(readFd)
  await drained
  assert.is((await reading).stdout.toString().trim(), '200000')
})

test('a reader that has gone is told, not waited for', async ({ pipes }) => {
  const { readFd, writeFd } = pipes.openInput()
  const input = createPipeInput(writeFd)
  closeSync(readFd)
  for (const text of ['nobody reads this', 'nor this']) {
    const message = await input.write(text).catch((error: Error) => error.message)
    assert.match(String(message), 'reads no input any more')
  }
})

test('closing gives up what is still to be written', async ({ pipes }) => {
  const { readFd, writeFd } = pipes.openInput()
  const input = createPipeInput(writeFd)
  const written = input.write('x'.repeat(200_000)).catch(() => undefined)
  input.close()
  await written
  assert.ok(readFileSync(readFd).length < 200_000)
  closeSync(readFd)
})

test.run()
