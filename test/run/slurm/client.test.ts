import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor } from '../../../lib/executor/executor.ts'
import type { RequestInput } from '../../../lib/protocol/request/request.ts'
import { hostCommands, outputProbe, tryEscapes } from '../../helpers/host-commands.ts'
import { type Cluster, findSlurmObstacle, startCluster } from '../../helpers/slurm-cluster.ts'
import { until } from '../../helpers/until.ts'

let cluster: Cluster | null = null
let obstacle = findSlurmObstacle()
try {
  if (obstacle === null) cluster = await startCluster()
} catch (error) {
  obstacle = String(error)
}
if (obstacle !== null) console.log(`SKIP runs as jobs of Slurm: ${obstacle}`)

if (cluster !== null) {
  const { call, environment } = cluster
  const executor = createExecutor({
    stateDir: null,
    environment: { ...process.env, ...environment },
  })
  const input = (command: string, changes: Partial<RequestInput> = {}): RequestInput => ({
    command,
    origin: 'print',
    host: 'slurm://',
    guard: false,
    ...changes,
  })
  const run = (command: string, changes?: Partial<RequestInput>) =>
    executor.run(input(command, changes))
  const stateOf = (id: string) =>
    call('squeue', '--noheader', '--states=all', `--name=${id}`, '--format=%T').trim()

  /** Starts a run, and gives it when it has written its first line. */
  async function begin(command: string, changes?: Partial<RequestInput>) {
    const started = await executor.start(input(`echo begun; ${command}`, changes))
    for await (const line of started.lines()) {
      assert.is(line, 'begun')
      break
    }
    return started
  }

  test.after(async () => {
    await executor.close()
    await cluster.close()
  })

  test('commands give there what bash gives here', async () => {
    const check = async (command: string) => {
      const there = await run(command, { streams: 'separate' })
      const here = spawnSync('bash', ['-c', command], { input: '', encoding: 'utf8' })
      assert.is(there.exitCode, here.status, `${command}: ${JSON.stringify(there)}`)
      assert.is(there.cwd, process.cwd())
      assert.is(there.signal, here.signal, command)
      assert.is(there.stdout, here.stdout, command)
      assert.is(there.stderr, here.stderr, command)
    }
    await Promise.all(hostCommands.map(check))
    const { command, ...written } = outputProbe
    const { stdout, stderr } = await run(command, { streams: 'separate' })
    assert.equal({ stdout, stderr }, written)
  })

  test('a run has the cores, the memory and the options that it asks for', async () => {
    const command = 'squeue --noheader --jobs=$SLURM_JOB_ID --format="%C %m %k %j %P"'
    const result = await run(command, {
      host: 'slurm://high',
      cores: 1,
      memory: '50M',
      sbatch: ['--comment=mine', '--job-name=other'],
    })
    assert.is(result.output ?? result.stdout, `1 50M mine ${result.id} high\n`)
  })

  test('what Slurm refuses did not start, in its words', async () => {
    const refused = await run('true', { host: 'slurm://nosuch' })
    assert.is(refused.status, 'not_started')
    assert.match(refused.error?.message ?? '', /invalid partition|Invalid partition/i)
    const large = await run('true', { memory: '900G' })
    assert.match(
      large.error?.message ?? '',
      /could not be reached: srun: error: .*(?:memory|node configuration)/i,
      JSON.stringify(large),
    )
  })

  test('input reaches the job', async () => {
    const result = await run('cat; echo end', { stdin: { kind: 'text', text: 'given\n' } })
    assert.is(result.output ?? result.stdout, 'given\nend\n')
    const open = await executor.start(input('read a; echo "got $a"', { openStdin: true }))
    await open.write('words\n')
    const read = await open.result
    assert.is(read.output ?? read.stdout, 'got words\n')
  })

  test('a job has a terminal where it asks for one', async () => {
    const result = await run('test -t 0 && test -t 1 && echo yes', { pty: true })
    assert.is(result.output, 'yes\n', JSON.stringify(result))
  })

  test('a deadline ends the job, with all that it can know, whatever the job reads', async () => {
    const changes: Partial<RequestInput>[] = [{}, { openStdin: true }]
    const stopAll = async (change: Partial<RequestInput>, index: number) => {
      const left = await tryEscapes(7850 + 10 * index, async (command) => {
        const result = await run(command, { timeoutSeconds: 2, ...change })
        const { status, reason, survivors } = result
        assert.equal([status, reason, survivors], ['stopped', 'timeout', []])
      })
      // What the job's own script cannot know, Slurm may lose sight of too (proctrack/linuxproc).
      assert.equal(
        left.filter((name) => name !== 'a daemon without its environment'),
        [],
      )
    }
    await Promise.all(changes.map(stopAll))
  })

  test('a deadline does not count the time in the queue, and a job that waits is cancelled', async () => {
    const holder = await begin('sleep 60', { sbatch: ['--exclusive'] })
    const other = await begin('sleep 60', { sbatch: ['--exclusive'] })
    const waiting = await executor.start(input('echo ran', { timeoutSeconds: 0.2 }))
    await until(() => stateOf(waiting.id) === 'PENDING')
    const stopped = await waiting.stop('cancel')
    assert.is(stopped.status, 'not_started')
    assert.is(stopped.reason, 'cancel')
    assert.match(stopped.error?.message ?? '', /never began/)
    const queued = await executor.start(input('echo ran', { timeoutSeconds: 60 }))
    await until(() => stateOf(queued.id) === 'PENDING')
    await Promise.all([holder.stop('kill'), other.stop('kill')])
    const result = await queued.result
    assert.is(result.exitCode, 0, JSON.stringify(result))
  })

  test('somebody else cancels it', async () => {
    const started = await begin('sleep 60')
    call('scancel', `--jobname=${started.id}`)
    const result = await started.result
    assert.is(result.status, 'stopped', JSON.stringify(result))
    assert.is(result.reason, 'kill')
    assert.match(result.notices.join(), /cancelled in Slurm, not by nacre/)
  })

  test('more memory than it may have', async () => {
    const result = await run(`python3 -c 'import time; x = b"a" * 200_000_000; time.sleep(30)'`, {
      memory: '50M',
    })
    assert.is(result.status, 'stopped', JSON.stringify(result))
    assert.is(result.reason, 'out_of_memory')
  })

  test('it comes to the end of its time in Slurm', async () => {
    const started = await begin('sleep 60')
    const id = call('squeue', '--noheader', `--name=${started.id}`, '--format=%A').trim()
    // A limit is a number of minutes; the end of a job can be set to the second.
    call('scontrol', 'update', `jobid=${id}`, 'endtime=now')
    const result = await started.result
    assert.is(result.status, 'stopped', JSON.stringify(result))
    assert.is(result.reason, 'timeout')
  })

  test('its node fails', async () => {
    const started = await begin('sleep 60', { sbatch: ['--nodelist=n1'] })
    call('scontrol', 'update', 'nodename=n1', 'state=down', 'reason=test')
    const result = await started.result
    call('scontrol', 'update', 'nodename=n1', 'state=idle')
    assert.is(result.status, 'lost', JSON.stringify(result))
    assert.match(result.error?.message ?? '', /node failed/)
  })

  test('another job displaces it', async () => {
    const started = await begin('sleep 60', { sbatch: ['--nodelist=n2'] })
    const other = await run('echo other', {
      host: 'slurm://high',
      sbatch: ['--nodelist=n2'],
    })
    assert.is(other.exitCode, 0, JSON.stringify(other))
    const result = await started.result
    assert.is(result.status, 'stopped', JSON.stringify(result))
    assert.is(result.reason, 'preempted')
  })
}

test.run()
