import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import { createFifoPool } from '../../../lib/run/pipe/fifo.ts'
import { createPipeRunner } from '../../../lib/run/pipe/pipe.ts'
import { createPrepareLaunch } from '../../../lib/run/launch.ts'
import { startPiped, startProcess } from '../../../lib/system/process/spawn.ts'
import { createTestRunner, isAlive, startTerminal } from '../../helpers/terminal-run.ts'
import { hear, until } from '../../helpers/until.ts'

const countDescriptors = () => readdirSync('/proc/self/fd').length

test('a start that fails leaves no descriptor', async () => {
  const files = [3, 4].map((fd) => ({ fd, from: '/dev/null', access: 'read' as const }))
  const start = () =>
    startProcess({
      file: join(tmpdir(), 'none'),
      args: [],
      stdio: ['pipe', 'pipe', 'ignore'],
      files,
    })
  // Node closes its ends of the pipes in the next turn.
  const turn = () => new Promise((turned) => setImmediate(turned))
  await start().catch(() => null)
  await turn()
  const before = countDescriptors()
  for (let count = 0; count < 5; count++) {
    const error = await start().then(
      () => null,
      (reason: unknown) => reason,
    )
    assert.is((error as NodeJS.ErrnoException).code, 'ENOENT')
  }
  // Node 24 closes one of its own meanwhile.
  await until(
    () => countDescriptors() <= before,
    () => `${countDescriptors()} descriptors, where there were ${before}`,
  )
})

test('a terminal in a sandbox whose start fails leaves no descriptor', async () => {
  const executor = createExecutor({ stateDir: null })
  try {
    const tooLong = { LONG: 'x'.repeat(200_000) }
    const run = () =>
      executor.run({
        command: 'true',
        origin: 'rpc',
        pty: true,
        sandbox: 'read-only',
        env: tooLong,
      })
    await run()
    const before = countDescriptors()
    for (let turn = 0; turn < 3; turn++) {
      const { status, error } = await run()
      assert.is(status, 'not_started')
      assert.is(error?.code, 'too_long', error?.message)
    }
    await until(() => countDescriptors() <= before)
  } finally {
    await executor.close()
  }
})

test('a program is hung up when nacre is killed, whatever runs beside it', async () => {
  const fixture = join(import.meta.dirname, '../../../fixtures/programs/hold-terminals.ts')
  const holder = spawn(process.execPath, ['--import', 'tsx', fixture], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await hear(holder.stdout, 'data')) as [Buffer]
  const [ended = 0, stubborn = 0] = line.toString().trim().split(' ').map(Number)
  assert.ok(isAlive(ended) && isAlive(stubborn))
  holder.kill('SIGKILL')
  await until(() => !isAlive(ended))
  assert.ok(isAlive(stubborn))
  process.kill(stubborn, 'SIGKILL')
  await until(() => !isAlive(stubborn))
})

test('no program has the master of a terminal', async () => {
  const uninherited = new Set<number>()
  const runner = createTestRunner({ uninherited })
  const list = 'for fd in /proc/self/fd/*; do readlink $fd; done'
  const first = await startTerminal(`read x; ${list}`, { runner })
  const second = await startTerminal(list, { runner })
  await second.exited
  const pipes = createFifoPool()
  const prepare = createPrepareLaunch({ environment: process.env, toTerminal: false })
  const throughPipes = await startTerminal(list, {
    runner: createPipeRunner({ prepare, pipes, uninherited }),
  })
  await throughPipes.exited
  pipes.close()
  void first.running.write('\n')
  await first.exited
  for (const text of [first, second, throughPipes].map((run) => run.text())) {
    assert.match(text, '/dev/')
    assert.not.match(text, 'ptmx')
  }
})

test('what no child may have is covered, and what it is given is not', async () => {
  const before = countDescriptors()
  const fd = openSync('/proc/self/cmdline', 'r')
  const child = await startPiped({
    file: '/bin/sh',
    args: ['-c', `readlink /proc/self/fd/${fd} /proc/self/fd/${fd + 1}`],
    stdio: ['ignore', 'pipe', 'ignore'],
    files: [{ fd: fd + 1, from: '/dev/zero', access: 'read' }],
    uninherited: new Set([fd, fd + 1]),
  })
  assert.is(String(await child.stdout?.toArray()), '/dev/null\n/dev/zero\n')
  closeSync(fd)
  // A thread of Node may have one of its own open at this moment.
  await until(() => countDescriptors() <= before)
})

test.run()
