import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../lib/executor/executor.ts'
import { MisuseError } from '../../lib/protocol/errors.ts'
import type { RunListener } from '../../lib/protocol/result/event.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import { isAlive } from '../helpers/terminal-run.ts'
import { until } from '../helpers/until.ts'

/** Until its parent has heard of its end. */
function isKnown(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function withExecutor(check: (executor: Executor) => Promise<void>): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  const executor = createExecutor({ stateDir })
  try {
    await check(executor)
  } finally {
    await executor.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

test('an output taken long after the end of the process does not close the other one', async () => {
  await withExecutor(async (executor) => {
    let pid = 0
    const others: number[] = []
    const onEvent: RunListener = async (event) => {
      if (event.type === 'started') pid = event.pid ?? 0
      if (event.type !== 'output' || event.stream !== 'stdout') return
      await until(() => pid !== 0 && !isKnown(pid))
      // Many turns of the event loop, in which the other reader could meet its end by itself.
      for (let turn = 0; turn < 1000; turn++) await nextTurn()
      // Whatever number was closed by then is that of another file now.
      for (let count = 0; count < 64; count++) others.push(openSync(import.meta.filename, 'r'))
    }
    const result = await executor.run(
      { command: 'echo out; echo err >&2', origin: 'print', streams: 'separate' },
      { onEvent },
    )
    for (const fd of others) closeSync(fd)
    assert.equal([result.stdout, result.stderr, result.exitCode], ['out\n', 'err\n', 0])
  })
})

for (const type of ['started', 'output', 'exited'] as const) {
  test(`a listener that throws at \`${type}\` stops its run and rejects`, async () => {
    await withExecutor(async (executor) => {
      let pid = 0
      const onEvent: RunListener = (event) => {
        if (event.type === 'started') pid = event.pid ?? 0
        if (event.type === type) throw new Error(`failed at ${type}`)
      }
      const command = type === 'exited' ? 'echo a' : 'echo a; sleep 100'
      const run = executor.run({ command, origin: 'agent' }, { onEvent })
      const error = await run.catch((thrown: unknown) => thrown)
      assert.is(error instanceof Error && error.message, `failed at ${type}`)
      assert.is(isAlive(pid), false)
    })
  })
}

test('a listener may answer with any thenable, and its failure is caught as well', async () => {
  await withExecutor(async (executor) => {
    const failing = {
      // oxlint-disable-next-line unicorn/no-thenable
      then: (_: unknown, reject: (error: Error) => void) => reject(new Error('late')),
    }
    const onEvent = ((event) => (event.type === 'output' ? failing : undefined)) as RunListener
    const run = executor.run({ command: 'echo a; sleep 100', origin: 'agent' }, { onEvent })
    const error = await run.catch((thrown: unknown) => thrown)
    assert.is(error instanceof Error && error.message, 'late')
  })
})

test('a request of nobody is misuse', async () => {
  await withExecutor(async (executor) => {
    const input = { command: 'true', origin: 'user' } as unknown as RequestInput
    const error = await executor.run(input).catch((thrown: unknown) => thrown)
    assert.instance(error, MisuseError)
    assert.is((error as MisuseError).field, 'origin')
  })
})

test('a listener of a job that throws stops the job, and its result says why', async () => {
  await withExecutor(async (executor) => {
    const onEvent: RunListener = async (event) => {
      if (event.type === 'output') throw new Error('gone')
    }
    const started = await executor.run(
      { command: 'read line; echo a; sleep 100', origin: 'agent', openStdin: true, waitSeconds: 0 },
      { onEvent },
    )
    void executor.jobs.write(started.id, 'go\n')
    const ended = await executor.jobs.wait(started.id, { timeoutSeconds: 60 })
    assert.is(ended.reason, 'cancel')
    assert.ok(ended.notices.includes('Its listener failed: gone'), ended.notices.join('; '))
  })
})

test.run()
