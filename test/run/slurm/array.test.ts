import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { cliCommand } from '../../helpers/cli.ts'
import { findHolder } from '../../helpers/jobs.ts'
import { createHome } from '../../helpers/home.ts'
import { runCli, runJson } from '../../helpers/run-cli.ts'
import { type Cluster, findSlurmObstacle, startCluster } from '../../helpers/slurm-cluster.ts'
import { hear, until } from '../../helpers/until.ts'

let cluster: Cluster | null = null
let obstacle = findSlurmObstacle()
try {
  if (obstacle === null) cluster = await startCluster()
} catch (error) {
  obstacle = String(error)
}
if (obstacle !== null) console.log(`SKIP arrays of Slurm: ${obstacle}`)

if (cluster !== null) {
  const { call, environment } = cluster
  const home = createHome()
  const options = { cwd: home.workspace, env: { ...home.env, ...environment } }
  // Three shells of a task take 10 MB already, and Slurm ends what has more than it asked for.
  const small = ['--memory', '40M', '--host', 'slurm://']
  // Others may run these tests on this machine too.
  const nap = (digit: number) => `sleep 749${digit}.${process.pid}`
  const countNaps = (digit = '.') => {
    const pattern = `^sleep 749${digit}\\.${process.pid}$`
    return Number(spawnSync('pgrep', ['-fc', pattern], { encoding: 'utf8' }).stdout)
  }

  async function listTasks(id: string) {
    const { stdout } = await runCli(['job', 'tasks', id, '--output-format', 'json'], options)
    return stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { task: number; result: Record<string, unknown> })
  }

  test.after(async () => {
    await cluster.close()
    home.remove()
  })

  test('an array is one of Slurm, and each task ends as it did', async () => {
    // What ends by a signal has its remains swept away, on the machine on which the other runs.
    const runs3 = 'squeue --noheader --states=running,completing --array --format=%K | grep -qx 3'
    const command = `
      echo "out $NACRE_TASK $SLURM_ARRAY_TASK_ID"
      echo err >&2
      case $NACRE_TASK in
        2) exit 3;;
        3) until [ -e began.4 ]; do sleep 0.1; done; kill -SEGV $$;;
        4) echo > began.4; while ${runs3}; do sleep 0.1; done;;
      esac`
    const { stdout, stderr, status } = await runCli(
      [
        ...small,
        '--array',
        '1-4',
        '--streams',
        'separate',
        '--output-format',
        'stream-json',
        '-c',
        command,
      ],
      options,
    )
    assert.is(status, 1, stderr.toString())
    const lines = stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const tasks = lines.filter(({ type }) => type === 'task')
    assert.equal(
      tasks
        .map(({ task, result }) => {
          const {
            status: how,
            exit_code,
            signal,
            stdout: out,
            stderr: err,
          } = result as Record<string, unknown>
          return [task, how, exit_code, signal, out, err]
        })
        .sort(([one], [other]) => Number(one) - Number(other)),
      [
        [1, 'exited', 0, null, 'out 1 1\n', 'err\n'],
        [2, 'exited', 3, null, 'out 2 2\n', 'err\n'],
        [3, 'signaled', null, 'SIGSEGV', 'out 3 3\n', 'err\n'],
        [4, 'exited', 0, null, 'out 4 4\n', 'err\n'],
      ],
    )
    const { tasks: summary, cwd } = lines.at(-1) as { tasks: Record<string, unknown>; cwd: string }
    assert.equal(summary['failures'], [2, 3])
    assert.is(cwd, home.workspace)
  })

  test('commands of their own, tried again where they fail', async () => {
    const input = `echo "it's" '$x'\nsleep 0.1; false\n`
    const result = await runJson([...small, '--array', '-', '--retry', '1'], { ...options, input })
    assert.is(result['stdout'] ?? result['output'], "it's $x\n")
    assert.equal((result['tasks'] as Record<string, unknown>)['retries'], 1)
  })

  test('no task waits for a login shell of Slurm', async () => {
    const result = await runJson(
      [...small, '--array', '1', '-c', 'echo "${SLURM_GET_USER_ENV-none}"'],
      { ...options, env: { ...options.env, NACRE_RUN: 'run_outer' } },
    )
    assert.is(result['stdout'] ?? result['output'], 'none\n')
  })

  test('the whole is killed, with what is deaf and has left its tasks', async () => {
    const deaf = `setsid sh -c 'trap "" TERM; ${nap(2)} &'`
    const command = `${deaf}; echo > began.$NACRE_TASK; ${nap(1)}`
    const started = await runJson(
      [...small, '--array', '6', '--background', '-c', command],
      options,
    )
    const id = String(started['job_id'])
    await until(() => [1, 2].every((task) => existsSync(join(home.workspace, `began.${task}`))))
    await runCli(['job', 'kill', id], options)
    const shown = await runJson(['job', 'show', id], options)
    assert.is(shown['status'], 'stopped')
    assert.is(shown['reason'], 'kill')
    const { failed, waiting, left } = shown['tasks'] as Record<string, unknown>
    assert.equal([failed, waiting, left], [2, 4, '3-6'], 'what never began did not fail')
    assert.is(call('squeue', '--noheader', `--name=${id}`, '--format=%T'), '')
    assert.is(countNaps(), 0)
  })

  test('a deadline ends each task with what it has left, one that begins too late as well', async () => {
    const deaf = `setsid sh -c 'trap "" TERM; ${nap(4)} &'`
    const command = `case $NACRE_TASK in 1) ${nap(3)};; 2) ${deaf}; trap 'exit 0' TERM; ${nap(3)} & wait;; esac`
    for (const limit of ['1.5', '0.001']) {
      const args = [...small, '--array', '2', '--timeout', limit, '--kill-after', '0.5s']
      const result = await runJson([...args, '-c', command], options)
      const { ends } = result['tasks'] as Record<string, unknown>
      assert.equal(ends, [{ end: 'timeout', count: 2, tasks: '1-2' }], JSON.stringify(result))
      const tasks = await listTasks(String(result['id']))
      for (const { status, reason, exit_code, limit_seconds } of tasks.map((task) => task.result)) {
        assert.equal(
          [status, reason, exit_code, limit_seconds],
          ['stopped', 'timeout', null, Number(limit)],
        )
      }
      assert.is(countNaps(), 0)
    }
  })

  test('a task that takes too much memory is told so, and what quotes Slurm is not', async () => {
    const eat = `python3 -c 'import time; x = b"a" * 200_000_000; time.sleep(60)'`
    const quote = 'echo "error: Exceeded job memory limit, oom-kill"; exit 9'
    const input = `${eat}; true\n${quote}\n`
    const args = [...small, '--streams', 'merged', '--array', '-']
    const result = await runJson(args, { ...options, input })
    const { ends } = result['tasks'] as { ends: { end: string; tasks: string }[] }
    assert.equal(ends.map(({ end, tasks }) => `${tasks}: ${end}`).sort(), [
      '1: out_of_memory',
      '2: exit 9',
    ])
  })

  test('what Slurm has left of a task whose script alone was killed ends too', async () => {
    const started = await runJson([...small, '--array', '1', '--background', '-c', nap(5)], options)
    const id = String(started['job_id'])
    await until(() => countNaps('5') > 0)
    const job = call('squeue', '--noheader', `--name=${id}`, '--format=%A').trim()
    call('scancel', '--signal=KILL', '--batch', job)
    await until(() => countNaps() === 0)
    await runCli(['job', 'wait', id, '--quiet'], options)
    const [task] = await listTasks(id)
    assert.equal([task?.result['status'], task?.result['signal']], ['signaled', 'SIGKILL'])
  })

  test('its results are picked up after its holder was killed', async () => {
    const [program = '', ...words] = cliCommand()
    const command =
      'echo "task $NACRE_TASK"; [ "$NACRE_TASK" -le 2 ] || sleep 1; exit $((NACRE_TASK == 3))'
    const args = [...small, '--array', '4', '--output-format', 'stream-json', '-c', command]
    const child = spawn(program, [...words, ...args], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let told = ''
    child.stdout.on('data', (bytes: Buffer) => (told += bytes.toString()))
    await until(
      () => told.includes('"type":"task"'),
      () => told,
    )
    const gone = hear(child, 'exit')
    process.kill(await findHolder(home.env['XDG_STATE_HOME'] ?? ''), 'SIGKILL')
    await gone
    const { id } = JSON.parse(told.split('\n')[0] ?? '') as { id: string }
    const waited = await runCli(['job', 'wait', id, '--quiet'], options)
    assert.is(waited.status, 1)
    const shown = await runJson(['job', 'show', id], options)
    const summary = shown['tasks'] as Record<string, unknown>
    assert.is(summary['succeeded'], 3, JSON.stringify(shown))
    assert.equal(summary['failures'], [3])
    const texts = (await listTasks(id))
      // They are told in the order of their ends.
      .sort((one, other) => one.task - other.task)
      .map(({ task, result }) => [task, result['stdout'] ?? result['output'], result['exit_code']])
    assert.equal(texts, [
      [1, 'task 1\n', 0],
      [2, 'task 2\n', 0],
      [3, 'task 3\n', 1],
      [4, 'task 4\n', 0],
    ])
  })
}

test.run()
