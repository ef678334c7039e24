import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../../lib/executor/executor.ts'
import type { RequestInput } from '../../lib/protocol/request/request.ts'
import type { RunEvent } from '../../lib/protocol/result/event.ts'
import { cliCommand } from '../helpers/cli.ts'
import { runProgram } from '../helpers/run-program.ts'

/** An executor with a state folder of its own. */
async function withExecutor(use: (executor: Executor) => Promise<void>): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), 'state-'))
  const executor = createExecutor({ stateDir })
  try {
    await use(executor)
  } finally {
    await executor.close()
    rmSync(stateDir, { recursive: true })
  }
}

const array = (command: string, changes: Partial<RequestInput> = {}): RequestInput => ({
  command,
  origin: 'print',
  array: '5',
  jobs: 2,
  ...changes,
})

test('every task knows its number, and the whole tells how they ended', () =>
  withExecutor(async (executor) => {
    const result = await executor.run(
      array('echo "task $NACRE_TASK"; case $NACRE_TASK in 2|4) exit 3;; 5) kill -KILL $$;; esac'),
    )
    assert.is(result.exitCode, 1)
    assert.is(result.exitMeaning, '3 of 5 tasks failed')
    assert.equal(
      (result.output ?? result.stdout ?? '').trim().split('\n').sort(),
      [1, 2, 3, 4, 5].map((task) => `task ${task}`),
    )
    const { slowest, ...tasks } = result.tasks ?? { slowest: null }
    assert.ok(slowest)
    assert.equal(tasks, {
      total: 5,
      succeeded: 2,
      failed: 3,
      running: 0,
      waiting: 0,
      ends: [
        { end: 'exit 0', count: 2, tasks: '1,3' },
        { end: 'exit 3', count: 2, tasks: '2,4' },
        { end: 'SIGKILL', count: 1, tasks: '5' },
      ],
      failures: [2, 4, 5],
      left: '',
      retries: 0,
      runningTasks: [],
    })
    const ends = await executor.jobs.tasks(result.id)
    assert.equal(
      ends.map(({ task }) => task),
      [1, 2, 3, 4, 5],
    )
  }))

test('what a task writes comes whole, and each end is told once', () =>
  withExecutor(async (executor) => {
    const events: RunEvent[] = []
    let stdout = ''
    const result = await executor.run(
      array('for i in 1 2 3; do echo "$NACRE_TASK"; sleep 0.02; done; echo err >&2', {
        streams: 'separate',
      }),
      {
        onEvent(event) {
          if (event.type === 'output' && event.stream === 'stdout') {
            stdout += Buffer.from(event.bytes).toString()
          }
          events.push(event)
        },
      },
    )
    assert.is(result.exitCode, 0)
    assert.is(result.stderr, 'err\n'.repeat(5))
    assert.match(stdout, /^(?:(\d\n)\1\1){5}$/)
    const told = events.flatMap((event) => (event.type === 'task' ? [event] : []))
    assert.equal(new Set(told.map(({ task }) => task)), new Set([1, 2, 3, 4, 5]))
    assert.equal(
      told.map(({ ended }) => ended),
      [1, 2, 3, 4, 5],
    )
  }))

test('commands of their own, and another try for the one that fails at first', () =>
  withExecutor(async (executor) => {
    const folder = mkdtempSync(join(tmpdir(), 'tries-'))
    const { command: _, array: __, ...rest } = array('')
    const result = await executor.run({
      ...rest,
      retry: 2,
      commands: [
        'echo one',
        `echo x >>${folder}/tries; [ "$(wc -l <${folder}/tries)" = 3 ]`,
        'false',
      ],
    })
    rmSync(folder, { recursive: true })
    assert.equal(result.tasks?.failures, [3])
    assert.is(result.tasks?.retries, 4)
  }))

test('a stop ends the tasks that run, and no other begins', () =>
  withExecutor(async (executor) => {
    const started = await executor.start(array('echo begun; sleep 7481', { array: '50', jobs: 3 }))
    // Their output comes at their end: a task has begun when it runs.
    while (started.look().tasks?.running !== 3) await new Promise((turn) => setTimeout(turn, 5))
    const result = await started.stop('kill')
    assert.is(result.status, 'stopped')
    assert.is(result.tasks?.failed, 3)
    assert.is(result.tasks?.waiting, 47)
    assert.equal(result.survivors, [])
  }))

test('the time limit is that of a task', () =>
  withExecutor(async (executor) => {
    const result = await executor.run(
      array('[ "$NACRE_TASK" != 2 ] || sleep 7482', { timeoutSeconds: 5, jobs: 1 }),
    )
    assert.equal(result.tasks?.ends, [
      { end: 'exit 0', count: 4, tasks: '1,3-5' },
      { end: 'timeout', count: 1, tasks: '2' },
    ])
  }))

test('the guard looks at each of the commands', () =>
  withExecutor(async (executor) => {
    const { command: _, array: __, ...rest } = array('')
    const result = await executor.run({ ...rest, commands: ['echo "', 'rm -rf /', 'echo "'] })
    assert.is(result.status, 'denied')
  }))

test('what cannot be done many times is refused', () =>
  withExecutor(async (executor) => {
    const message = async (changes: Partial<RequestInput>) => {
      try {
        await executor.run(array('true', changes))
      } catch (error) {
        return (error as Error).message
      }
      return 'nothing'
    }
    assert.match(await message({ array: '5-1' }), /^`array` must be a number of tasks/)
    assert.match(await message({ array: '1-999999999' }), /at most 100000/)
    assert.match(await message({ pty: true }), /contradict each other/)
    assert.match(await message({ commands: ['a', 'b'] }), /there are 2 commands/)
    const single = executor.run({ command: 'true', origin: 'print', jobs: 3 })
    assert.match(String(await single.catch((error: unknown) => error)), /for an array of tasks/)
  }))

test('an array whose ends find no room on disk ends as a result that names its tasks', async () => {
  const state = mkdtempSync(join(tmpdir(), 'nacre-test-'))
  const words = [...cliCommand(), '--output-format', 'json', '--array', '1-6', '--jobs', '2']
  const line = ['-c', 'ulimit -f 1; exec "$@"', 'bash', ...words, '-c', 'echo t']
  const { stdout } = await runProgram('bash', line, { env: { XDG_STATE_HOME: state } })
  const { tasks, notices } = JSON.parse(stdout.toString()) as {
    tasks: { succeeded: number }
    notices: string[]
  }
  rmSync(state, { recursive: true })
  assert.is(tasks.succeeded, 6)
  assert.match(String(notices), /Not kept on disk: the ends of the tasks \d-6: EFBIG/)
})

test.run()
