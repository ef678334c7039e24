import { readdirSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { StartError } from '../../../lib/protocol/ports.ts'
import { createTestRunner, isAlive, startTerminal } from '../../helpers/terminal-run.ts'
import { until } from '../../helpers/until.ts'

test('the program has a terminal of the wanted size, which is the controlling one', async () => {
  const run = await startTerminal('stty size </dev/tty; tty; [ -t 0 ] && [ -t 1 ] && [ -t 2 ]', {
    pty: { columns: 132, rows: 43 },
  })
  assert.equal(await run.exited, { code: 0, signal: null })
  assert.match(run.text(), /^43 132\r\n\/dev\/\S+\r\n$/)
})

test('the program leads a process session of its own', async () => {
  const run = await startTerminal('echo $$ $(ps -o sid= -p $$)')
  await run.exited
  const pid = run.running.pid()
  assert.is(run.text(), `${pid} ${pid}\r\n`)
})

test('exit codes and signals are exact', async () => {
  const ends: [command: string, code: number | null, signal: string | null][] = [
    ['exit 0', 0, null],
    ['exit 255', 255, null],
    ['exit 130', 130, null],
    ['kill -SEGV $$', null, 'SIGSEGV'],
    ['kill -KILL $$', null, 'SIGKILL'],
    ['kill -HUP $$', null, 'SIGHUP'],
    ['nothing-of-this-name', 127, null],
  ]
  for (const [command, code, signal] of ends) {
    const run = await startTerminal(command)
    assert.equal(await run.exited, { code, signal }, command)
  }
})

test('a shell names itself as it does anywhere', async () => {
  const run = await startTerminal('echo $0; nothing-of-this-name')
  await run.exited
  assert.match(run.text(), /^bash\r\nbash: line 1: nothing-of-this-name/)
})

test('keys of the terminal make signals', async () => {
  const run = await startTerminal('echo ready; exec sleep 1000')
  await run.shown('ready')
  void run.running.write('\x03')
  assert.equal(await run.exited, { code: null, signal: 'SIGINT' })
})

test('a new size reaches the program, clamped to what a terminal may measure', async () => {
  const run = await startTerminal(
    // bash may drop a signal that comes while it runs the trap of the same signal.
    `trap changed=1 WINCH; trap "exit 0" INT; echo ready
     while sleep 0.02; do [ "$changed" ] && changed= && stty size; :; done`,
  )
  await run.shown('ready')
  run.running.resize(100, 30)
  await run.shown('30 100')
  run.running.resize(1, 1000)
  await run.shown('200 20')
  void run.running.write('\x03')
  assert.is((await run.exited).code, 0)
  // After the end there is nothing to resize or to write to.
  run.running.resize(80, 24)
  void run.running.write('late')
})

test('an environment that is too long for the system is an error, not output', async () => {
  const env = { LONG: 'x'.repeat(200_000) }
  const start = startTerminal('true', { env })
  const error = await start.then(
    () => null,
    (caught: unknown) => caught,
  )
  assert.instance(error, StartError)
  assert.is((error as StartError).failure.code, 'too_long')
})

test('a program that cannot be executed is an error, not output', async () => {
  const prepare = async () => {
    const env = { NACRE_RUN: 'run_x' }
    return { file: '/nowhere/sh', argv0: 'test', args: [], env, cwd: '/', mark: 'run_x' }
  }
  const start = startTerminal('true', { runner: createTestRunner({ prepare }) })
  const error = await start.then(
    () => null,
    (caught: unknown) => caught,
  )
  assert.instance(error, StartError)
  assert.match((error as StartError).message, '/nowhere/sh')
})

test('a stop ends everything that the run started', async () => {
  const run = await startTerminal(
    `trap "" TERM HUP
     setsid -f bash -c 'trap "" TERM; echo pid $$ .; sleep 1000' &
     (exec nohup sleep 1000) >/dev/null 2>&1 & echo pid $! .
     (exec env -i sleep 1000) & echo pid $! .
     echo ready; sleep 1000; sleep 1000`,
  )
  await run.shown('ready')
  await until(() => [...run.text().matchAll(/pid \d+ \./g)].length === 3)
  const first = run.running.stop('cancel')
  assert.is(run.running.stop('kill'), first)
  // A process of somebody else that appears meanwhile may be named, but survives nothing.
  assert.equal((await first).survivors, [])
  assert.is((await run.exited).signal, 'SIGKILL')
  for (const [, pid] of run.text().matchAll(/pid (\d+) \./g)) assert.not.ok(isAlive(Number(pid)))
})

test('120 runs one after another leave no descriptor', async () => {
  const runner = createTestRunner()
  const command = 'echo x'
  await (
    await startTerminal(command, { runner })
  ).exited
  const before = readdirSync('/dev/fd').length
  for (let count = 0; count < 120; count++) {
    const run = await startTerminal(command, { runner })
    assert.is((await run.exited).code, 0)
    assert.is(run.text(), 'x\r\n')
  }
  await until(() => readdirSync('/dev/fd').length <= before)
})

test.run()
