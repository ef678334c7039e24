import { createHash, randomBytes } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startTerminal } from '../../helpers/terminal-run.ts'

const hash = (data: string) => createHash('sha256').update(data).digest('hex')

test('1 MB reaches a program in raw mode whole', async () => {
  const input = randomBytes(500_000).toString('hex')
  const run = await startTerminal('stty raw -echo; echo ready; head -c 1000000 | sha256sum')
  await run.shown('ready')
  void run.running.write(input)
  assert.is((await run.exited).code, 0)
  assert.match(run.text(), hash(input))
})

test('1 MB of lines reaches a program that reads lines, and Ctrl-D ends them', async () => {
  const lines = `${randomBytes(50).toString('hex')}\n`.repeat(10_000)
  const run = await startTerminal('stty -echo; echo ready; sha256sum')
  await run.shown('ready')
  void run.running.write(lines)
  void run.running.write('\x04')
  assert.is((await run.exited).code, 0)
  assert.match(run.text(), hash(lines))
})

test('input that nobody reads keeps neither the event loop nor the end', async () => {
  const run = await startTerminal('stty raw -echo; echo ready; read -N 1; exit 4')
  await run.shown('ready')
  void run.running.write('x'.repeat(1_000_000))
  assert.is((await run.exited).code, 4)
})

test('input and output go on at the same time', async () => {
  const input = randomBytes(250_000).toString('hex')
  const run = await startTerminal('stty raw -echo; echo ready; head -c 500000')
  await run.shown('ready')
  void run.running.write(input)
  assert.is((await run.exited).code, 0)
  assert.ok(run.text().endsWith(input))
})

test.run()
