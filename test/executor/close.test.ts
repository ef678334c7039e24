import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../lib/executor/executor.ts'
import { MisuseError } from '../../lib/protocol/errors.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import { hasEnvironment, listProcesses } from '../../lib/system/process/process-table.ts'
import { makeHungShell } from '../helpers/hung-shell.ts'
import { until } from '../helpers/until.ts'

const mark = `NACRE_TEST_CLOSE=${process.pid}`

function isLeft(): boolean {
  return listProcesses().some(({ pid, zombie }) => !zombie && hasEnvironment(pid, mark))
}

async function withExecutor(
  check: (executor: Executor, stateDir: string) => Promise<void>,
): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  const environment = { ...process.env, NACRE_TEST_CLOSE: String(process.pid) }
  const executor = createExecutor({ stateDir, environment })
  try {
    await check(executor, stateDir)
  } finally {
    await executor.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/** Every way to attach, some of them after others of the same session. */
function compose(number: number): RequestInput {
  const input: RequestInput = { command: 'sleep 100', origin: 'agent' }
  if (number % 3 === 0) return { ...input, session: `s${number % 12}` }
  return number % 7 === 0 ? { ...input, pty: true } : input
}

test('runs that are just starting end with close, and it waits for them', async () => {
  for (const turns of [0, 1, 20]) {
    await withExecutor(async (executor) => {
      let settled = 0
      const runs = Array.from({ length: 64 }, async (_, number) => {
        try {
          const { status, reason } = await executor.run(compose(number))
          // What waits for its session has not begun.
          return status === 'not_started' ? `stopped ${reason}` : `${status} ${reason}`
        } catch (error) {
          assert.instance(error, MisuseError)
          return 'stopped shutdown'
        } finally {
          settled++
        }
      })
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      await executor.close()
      assert.is(isLeft(), false)
      assert.is(settled, 64)
      assert.equal(await Promise.all(runs), Array(64).fill('stopped shutdown'))
    })
  }
})

test('a session that is closed while its shell starts runs nothing of what was asked of it', async () => {
  await withExecutor(async (executor, folder) => {
    const shell = makeHungShell(folder)
    const input = { command: 'sleep 100', origin: 'print', session: 'closed', shell } as const
    const runs = [executor.run(input), executor.run(input), executor.run(input)]
    const signal = AbortSignal.timeout(30_000)
    while (executor.sessions.list().length === 0) {
      assert.not(signal.aborted, 'no session has begun')
      await nextTurn()
    }
    assert.ok(await executor.sessions.close('closed'))
    for (const { status, error } of await Promise.all(runs)) {
      assert.equal([status, error?.code], ['not_started', 'session_closed'])
    }
    assert.equal(executor.sessions.list(), [])
    assert.is(isLeft(), false)
  })
})

test('a run that was asked about when its executor closed does not start', async () => {
  await withExecutor(async (executor) => {
    let tellAsked = () => {}
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    let answer: (allowed: boolean) => void = () => {}
    const answered = new Promise<boolean>((resolve) => {
      answer = resolve
    })
    const approve = () => {
      tellAsked()
      return answered
    }
    const command = 'echo started; rm -rf "$NACRE_TEST_UNSET"/*'
    const run = executor.run({ command, origin: 'print' }, { approve })
    await Promise.race([asked, run.then((result) => assert.unreachable(JSON.stringify(result)))])
    await executor.close()
    answer(true)
    assert.instance(await run.catch((error: unknown) => error), MisuseError)
  })
})

if (process.platform === 'linux') {
  test('close leaves no descriptor', async () => {
    const count = () => readdirSync('/proc/self/fd').length
    await withExecutor(async (executor) => {
      await executor.run({ command: 'true', origin: 'agent', pty: true })
    })
    const before = count()
    await withExecutor(async (executor) => {
      const runs = Array.from({ length: 64 }, (_, number) =>
        executor.run({ ...compose(number), command: 'echo a' }),
      )
      await Promise.all(runs)
    })
    // Streams close their descriptors in the background.
    await until(() => count() <= before)
  })
}

test.run()
