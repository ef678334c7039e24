import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { OutputSink } from '../../../lib/protocol/ports.ts'
import {
  createTestRunner,
  isAlive,
  startTerminal,
  terminalRequest,
} from '../../helpers/terminal-run.ts'
import { until } from '../../helpers/until.ts'

const file = join(tmpdir(), `megabyte-${process.pid}`)
// No newline, so that the terminal changes nothing.
const megabyte = randomBytes(786_432).toString('base64')
test.before(() => writeFileSync(file, megabyte))
test.after(() => rmSync(file))

const hash = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')

test('200 runs of a program that writes 1 MB and exits at once lose no byte', async () => {
  const runner = createTestRunner()
  const wanted = hash(megabyte)
  async function repeat(): Promise<void> {
    for (let count = 0; count < 50; count++) {
      const run = await startTerminal(`exec cat ${file}`, { runner })
      assert.equal(await run.exited, { code: 0, signal: null })
      assert.is(hash(run.bytes()), wanted)
    }
  }
  await Promise.all([repeat(), repeat(), repeat(), repeat()])
})

test('the end does not wait for a background child that keeps the terminal', async () => {
  // It is named by what it is at the end of the run, which is a bash until it is a sleep.
  const isAsleep = 'until read -r name </proc/$!/comm && [ "$name" = sleep ]; do :; done'
  const run = await startTerminal(`trap "" HUP; sleep 1000 & ${isAsleep}; echo $!; exit 3`)
  const exit = await run.exited
  assert.is(exit.code, 3)
  const pid = Number(run.text())
  assert.ok(isAlive(pid))
  assert.equal(exit.notices, [`Still running in the background: ${pid} sleep 1000`])
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
})

test('the end does not wait for a background child that floods the terminal', async () => {
  const run = await startTerminal('trap "" HUP; yes & printf "\nEND %s.\n" $!; exit 3')
  assert.is((await run.exited).code, 3)
  const pid = Number(/END (\d+)\./.exec(run.text())?.[1])
  // The terminal is gone: its writes fail.
  await until(() => !isAlive(pid))
})

test('the end does not wait for a terminal that was stopped with Ctrl-S', async () => {
  const run = await startTerminal('stty -echo ixon; echo ready; read x; exit 5')
  await run.shown('ready')
  void run.running.write('\x13go\n')
  assert.is((await run.exited).code, 5)
  assert.is(run.text(), 'ready\r\n')
})

test('a sink that is busy pauses the program, and gets every byte in the end', async () => {
  const { promise: held, settle: release } = defer()
  const chunks: Buffer[] = []
  let busy = 0
  const sink: OutputSink = {
    async write(_stream, bytes) {
      busy++
      assert.is(busy, 1)
      chunks.push(Buffer.from(bytes))
      await held
      busy--
    },
  }
  const running = await createTestRunner()(terminalRequest(`exec cat ${file}`), sink)
  await until(() => chunks.length === 1 && sleepsInWrite(running.pid()))
  assert.is(chunks.length, 1)
  release()
  assert.equal(await running.exited, { code: 0, signal: null })
  assert.is(hash(Buffer.concat(chunks)), hash(megabyte))
})

test('where nobody reads any more, the program is hung up', async () => {
  for (const answer of ['closed' as const, Promise.resolve('closed' as const)]) {
    let writes = 0
    const sink: OutputSink = {
      write() {
        writes++
        return answer
      },
    }
    const running = await createTestRunner()(terminalRequest('exec yes'), sink)
    const exit = await running.exited
    // yes may see the failed write before the signal.
    assert.ok(exit.signal === 'SIGHUP' || exit.code === 1, JSON.stringify(exit))
    assert.is(writes, 1)
    void running.write('nobody')
    running.resize(40, 10)
  }
})

/** A write is what a program with an unread terminal sleeps in (x64: 1, arm64: 64). */
function sleepsInWrite(pid: number | null): boolean {
  const call = readFileSync(`/proc/${pid}/syscall`, 'latin1').split(' ')[0]
  return call === (process.arch === 'arm64' ? '64' : '1')
}

function defer(): { promise: Promise<void>; settle: () => void } {
  let settle = () => {}
  const promise = new Promise<void>((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}

test.run()
