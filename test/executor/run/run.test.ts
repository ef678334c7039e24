import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../../lib/executor/executor.ts'
import { MisuseError } from '../../../lib/protocol/errors.ts'
import type { RunEvent } from '../../../lib/protocol/result/event.ts'
import { makeHungShell } from '../../helpers/hung-shell.ts'
import { until } from '../../helpers/until.ts'

async function withExecutor(
  check: (executor: Executor, dir: string) => Promise<void>,
  options: { isHolder?: boolean } = {},
) {
  const dir = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  const executor = createExecutor({ stateDir: join(dir, 'state'), ...options })
  try {
    await check(executor, dir)
  } finally {
    await executor.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

test('a run is found by its id before its start is told', () =>
  withExecutor(async (executor) => {
    let found = ''
    const run = await executor.start(
      { command: 'true', origin: 'agent' },
      {
        onEvent(event) {
          if (event.type === 'started') found = executor.jobs.find(event.id).id
        },
      },
    )
    assert.is(found, run.id)
    assert.is((await run.result).exitCode, 0)
  }))

test('whoever iterates over the events of a new run gets all of them', () =>
  withExecutor(async (executor) => {
    for (const more of [{}, { session: 'one' }, { pty: true }]) {
      const run = await executor.start({ command: 'echo a; echo b', origin: 'agent', ...more })
      const types: string[] = []
      let text = ''
      for await (const event of run.events) {
        if (types.at(-1) !== event.type) types.push(event.type)
        if (event.type === 'output') text += Buffer.from(event.bytes).toString()
      }
      assert.equal(types, ['started', 'output', 'exited'])
      assert.is(text.replaceAll('\r', ''), 'a\nb\n')
    }
  }))

test('a reader of events that is slow loses nothing, and one that leaves holds nobody up', () =>
  withExecutor(async (executor) => {
    const run = await executor.start({ command: 'seq 300000', origin: 'agent' })
    let bytes = 0
    for await (const event of run.events) {
      if (event.type === 'output') bytes += event.bytes.length
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.is(bytes, 1_988_895)
    const left = await executor.start({ command: 'seq 300000', origin: 'agent' })
    for await (const event of left.events) if (event.type === 'output') break
    assert.is((await left.result).exitCode, 0)
  }))

test('lines of a run come as they are written', () =>
  withExecutor(async (executor) => {
    const run = await executor.start({ command: 'cat', origin: 'agent', openStdin: true })
    const lines = run.lines()[Symbol.asyncIterator]()
    for (const line of ['one', 'two \u2028 still two']) {
      await run.write(`${line}\n`)
      assert.is((await lines.next()).value, line)
    }
    await run.write('no newline')
    run.endInput()
    assert.is((await lines.next()).value, 'no newline')
    assert.is((await lines.next()).done, true)
  }))

test('a run that is let go is a job, and its caller has its answer', () =>
  withExecutor(async (executor) => {
    const run = await executor.start({ command: 'sleep 60', origin: 'agent' })
    assert.equal(await executor.jobs.list(), [])
    assert.is(run.detach().status, 'running')
    assert.is((await run.result).jobId, run.id)
    assert.equal(
      (await executor.jobs.list()).map(({ id }) => id),
      [run.id],
    )
    const result = await run.stop('kill')
    assert.equal([result.status, result.reason], ['stopped', 'kill'])
    assert.is(await run.ended, result)
  }))

/** As on a machine where a socket takes longer than a short command. */
async function withSlowSockets(use: () => Promise<void>): Promise<void> {
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its own server
  const { listen } = Server.prototype
  Server.prototype.listen = function (this: Server, ...words: unknown[]) {
    setTimeout(() => void Reflect.apply(listen, this, words), 300)
    return this
  }
  try {
    await use()
  } finally {
    Server.prototype.listen = listen
  }
}

for (const isHolder of [false, true]) {
  const who = isHolder ? 'a supervisor' : 'an executor'
  test(`a job of ${who} that had ended before it could be found had no id, or an end before its start`, () =>
    withSlowSockets(() =>
      withExecutor(
        async (executor) => {
          const told: string[] = []
          const onEvent = ({ type }: RunEvent) => void told.push(type)
          const input = { command: 'exit 3', origin: 'rpc', login: false, waitSeconds: 0 } as const
          const { status, jobId, id } = await executor.run(input, { onEvent })
          assert.equal([status, jobId], ['running', id])
          assert.is((await executor.jobs.wait(id)).exitCode, 3)
          assert.equal(told, ['started', 'exited'])
        },
        { isHolder },
      ),
    ))
}

test('an aborted signal starts nothing', () =>
  withExecutor(async (executor, dir) => {
    const file = join(dir, 'made')
    const command = `echo x > ${file}`
    const result = await executor.run({ command, origin: 'agent' }, { signal: AbortSignal.abort() })
    assert.equal([result.status, result.reason, result.signal], ['not_started', 'cancel', null])
    assert.match(result.error?.message ?? '', 'never started')
    assert.is(existsSync(file), false)
  }))

for (const pty of [false, true]) {
  const where = pty ? 'a session on a terminal' : 'its session'
  test(`a command whose time runs out in the queue of ${where} never started`, () =>
    withExecutor(async (executor, dir) => {
      const file = join(dir, 'made')
      const session = { session: 'one', origin: 'agent', pty } as const
      const first = await executor.start({ ...session, command: 'sleep 60' })
      const result = await executor.run({ ...session, command: `: > ${file}`, timeoutSeconds: 1 })
      assert.equal([result.status, result.reason, result.signal], ['not_started', 'timeout', null])
      assert.match(result.error?.message ?? '', 'busy with another one when its time was over')
      await first.stop()
      assert.is((await executor.run({ ...session, command: 'echo on' })).output, 'on\n')
      assert.is(existsSync(file), false)
    }))
}

test('a session whose shell never gets ready was waited for without end', () =>
  withExecutor(async (executor, dir) => {
    const session = { session: 'one', origin: 'print', command: 'echo on' } as const
    const shell = makeHungShell(dir)
    const result = await executor.run({ ...session, shell, timeoutSeconds: 1 })
    assert.equal([result.status, result.reason, result.signal], ['not_started', 'timeout', null])
    assert.match(result.error?.message ?? '', 'its shell was still starting when its time was over')
    assert.is((await executor.run({ ...session, shell: 'bash' })).output, 'on\n')
  }))

test('a run of a session whose start meets a fault in the queue settles', () =>
  withExecutor(async (executor, dir) => {
    const session = { session: 'one', origin: 'agent' } as const
    const first = await executor.start({ ...session, command: 'sleep 60' })
    const waiting = executor.run({ ...session, command: 'true', cwd: join(dir, 'nowhere') })
    await first.stop()
    const result = await waiting
    assert.equal([result.status, result.error?.code], ['not_started', 'cwd_not_found'])
  }))

test('denied and not started are runs too', () =>
  withExecutor(async (executor) => {
    const denied = await executor.start({ command: 'rm -rf /', origin: 'agent' })
    assert.equal([denied.pid, (await denied.result).status], [null, 'denied'])
    const failed = await executor.start({ command: 'true', origin: 'agent', cwd: '/nowhere' })
    assert.is((await failed.ended).status, 'not_started')
    const types: string[] = []
    for await (const { type } of failed.events) types.push(type)
    assert.equal(types, ['exited'])
    assert.instance(await failed.write('x').catch((error: unknown) => error), MisuseError)
  }))

test('an input of a wrong shape was passed by in silence', () =>
  withExecutor(async (executor) => {
    for (const wrong of [
      'text',
      { kind: 'text' },
      { kind: 'descriptor', fd: '3' },
      { kind: 'descriptor', fd: -1 },
      { kind: ['none'] },
      { kind: 'none ' },
    ]) {
      try {
        // As from a caller without types.
        await executor.run({ command: 'cat', origin: 'print', stdin: wrong as { kind: 'none' } })
        assert.unreachable()
      } catch (error) {
        assert.instance(error, MisuseError)
        assert.match((error as MisuseError).message, /^`stdin` must be \{ kind: 'none'/)
      }
    }
    const stdin = { kind: 'text', text: 'x' } as const
    const { output } = await executor.run({ command: 'cat', origin: 'print', stdin })
    assert.is(output, 'x')
  }))

test('a descriptor that is not open was told as too few files', () =>
  withExecutor(async (executor) => {
    const stdin = { kind: 'descriptor', fd: 9999 } as const
    const { status, error } = await executor.run({ command: 'cat', origin: 'print', stdin })
    assert.equal([status, error?.message], ['not_started', 'Descriptor 9999 is not open'])
  }))

test('who asks is left out in the library alone', () =>
  withExecutor(async (executor) => {
    try {
      executor.parse({ command: 'true' })
      assert.unreachable()
    } catch (error) {
      assert.is((error as MisuseError).field, 'origin')
    }
  }))

test('the close of a session was told as a signal from outside, and its runs came out of order', () =>
  withExecutor(async (executor) => {
    const inSession = { origin: 'rpc', login: false, session: 'one', streams: 'merged' } as const
    // The grammar of the guard is loaded for the first, and not needed for the second.
    const first = executor.start({ ...inSession, command: 'for x in 1; do sleep 60; done' })
    const second = executor.run({ ...inSession, command: 'echo second' })
    const run = await first
    await until(() => executor.sessions.list()[0]?.queued === 1)
    await executor.sessions.close('one')
    const { status, reason, signal } = await run.result
    assert.equal([status, reason, signal], ['stopped', 'kill', 'SIGTERM'])
    assert.is((await second).error?.code, 'session_closed')
  }))

test('input that nobody reads is bounded', () =>
  withExecutor(async (executor) => {
    const input = { command: 'exec sleep 60', origin: 'agent', openStdin: true } as const
    const run = await executor.start(input)
    const first = run.write('x'.repeat(3_000_000)).catch((error: unknown) => error)
    const second = await run.write('x'.repeat(3_000_000)).catch((error: unknown) => error)
    assert.is(second instanceof MisuseError && second.code, 'input_full')
    await run.stop()
    assert.instance(await first, MisuseError)
  }))

test.run()
