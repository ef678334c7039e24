import { closeSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createFifoPool, type FifoPool } from '../../../lib/run/pipe/fifo.ts'
import { createPipeInput } from '../../../lib/run/pipe/pipe-input.ts'
import { runProgram } from '../../helpers/run-cli.ts'

const test = suite<{ pipes: FifoPool }>('pipe input')
test.before.each((context) => {
  context.pipes = createFifoPool()
})
test.after.each(({ pipes }) => pipes.close())

test('everything arrives in order, more than the pipe holds, then its end', async ({ pipes }) => {
  const { readFd, writeFd } = await pipes.openInput()
  const reading = runProgram('cat', [], { stdio: [readFd, 'pipe', 'inherit'] })
  closeSync(readFd)
  const input = createPipeInput(writeFd)
  const parts = Array.from({ length: 40 }, (_, index) => `${index}:`.padEnd(20_000, 'é'))
  for (const part of parts) input.write(part)
  input.end()
  await input.drain()
  assert.ok((await reading).stdout.toString() === parts.join(''))
})

test('a full pipe holds the writer up until it is read', async ({ pipes }) => {
  const { readFd, writeFd } = await pipes.openInput()
  const input = createPipeInput(writeFd)
  let taken = false
  input.write('x'.repeat(200_000))
  const drained = input.drain().then(() => {
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
  const { readFd, writeFd } = await pipes.openInput()
  const input = createPipeInput(writeFd)
  closeSync(readFd)
  input.write('nobody reads this')
  let message = ''
  await input.drain().catch((error: Error) => {
    message = error.message
  })
  assert.match(message, 'reads no input any more')
  assert.throws(() => input.write('nor this'), 'reads no input any more')
})

test('closing gives up what is still to be written', async ({ pipes }) => {
  const { readFd, writeFd } = await pipes.openInput()
  const input = createPipeInput(writeFd)
  input.write('x'.repeat(200_000))
  input.close()
  await input.drain().catch(() => undefined)
  assert.ok(readFileSync(readFd).length < 200_000)
  closeSync(readFd)
})

test.run()
