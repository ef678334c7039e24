import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadTerminalCalls } from '../../../lib/run/terminal/terminal-calls.ts'
import { startWithFork } from '../../../lib/run/terminal/start.ts'
import type { PtyProcess } from '../../../lib/run/terminal/start.ts'
import { attachTerminal } from '../../../lib/run/terminal/attached-terminal.ts'

const parts = { calls: loadTerminalCalls(), uninherited: new Set<number>() }

function start(command: string): PtyProcess {
  const launch = {
    file: '/bin/sh',
    argv0: 'test',
    args: ['-c', command],
    env: { PATH: process.env['PATH'] ?? '/bin:/usr/bin', NACRE_RUN: 'run_x' },
    cwd: '/',
    mark: 'run_x',
  }
  return startWithFork({ launch, size: { columns: 100, rows: 50 } }, parts)
}

async function collect(command: string) {
  const program = start(command)
  const chunks: Buffer[] = []
  const output = attachTerminal(program, parts, (bytes) => void chunks.push(Buffer.from(bytes)))
  const exit = await program.ended
  await output.drain()
  await output.close()
  return { exit, text: Buffer.concat(chunks).toString() }
}

test('a forked program has its size, directory and environment, and loses nothing', async () => {
  const run = await collect('stty size </dev/tty; pwd; echo $NACRE_RUN; exec seq 100000')
  assert.equal(run.exit, { code: 0, signal: null })
  const numbers = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\r\n`).join('')
  assert.is(run.text, `50 100\r\n/\r\nrun_x\r\n${numbers}`)
})

test('the exit code and the signal of a forked program are exact', async () => {
  assert.equal((await collect('exit 42')).exit, { code: 42, signal: null })
  assert.equal((await collect('kill -SEGV $$')).exit, { code: null, signal: 'SIGSEGV' })
})

test('closing the master hangs a forked program up', async () => {
  const program = start('echo ready; exec sleep 1000')
  const output = attachTerminal(program, parts, () => 'closed')
  assert.equal(await program.ended, { code: null, signal: 'SIGHUP' })
  await output.close()
})

test.run()
