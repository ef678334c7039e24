import { closeSync, createReadStream, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type Exit, type OutputSink, type Runner, StartError } from '../../../protocol/ports.ts'
import { joinTasks } from '../../../protocol/array.ts'
import type { Request } from '../../../protocol/request/request.ts'
import type { HostAddress } from '../../../protocol/request/host-address.ts'
import { describeEnd, describeHeard, followFrames } from '../follower.ts'
import { frameHead } from '../frames.ts'
import { createRunning } from '../../running.ts'
import { composeRunScript, type RemoteCommand } from '../script.ts'
import { composeJob } from './client.ts'
import { callSlurm, listJobs, type SlurmCommands } from './commands.ts'
import { describeJobEnd, hasEnded, isWaiting, neverBegan, type SlurmJob } from './states.ts'
import { markVariable, ownerVariable } from '../../../system/process/run-variables.ts'

/** What runs an array as a whole. */
export interface ArrayScheduler {
  /**
   * Hands over some tasks of an array, whose output will lie in `folder`, which the nodes share. Gives
   * the id of what was made of them. Rejects with `StartError`.
   */
  submit(request: Request, handed: HandedTasks): Promise<string>
  /** How the tasks of it stand, by their numbers; null where the scheduler does not answer. */
  look(jobId: string): Promise<Map<number, TaskState> | null>
  /** Whether the file of a task tells its end. */
  hasTold(folder: string, name: string, task: number): boolean
  /** Ends what is left of it, with KILL after a grace where `hard`. */
  cancel(jobId: string, hard: boolean): Promise<void>
  /** Gives on what an ended task has written, and its end; `state` null: the scheduler has forgotten it. */
  replay(folder: string, name: string, task: number, state: TaskState | null): Runner
}

interface HandedTasks {
  folder: string
  tasks: readonly number[]
  /** Names the frames of its scripts. */
  name: string
}

interface TaskState {
  stands: 'waits' | 'runs' | 'ended'
  job: SlurmJob
}

/** `describe`: what a request is over there. */
export function createSlurmArrays(
  { partition }: HostAddress & { kind: 'slurm' },
  slurm: SlurmCommands,
  describe: (request: Request, name: string) => RemoteCommand,
): ArrayScheduler {
  /** Each side knows its own marks. */
  const unmarked: SlurmCommands = {
    ...slurm,
    environment: { ...slurm.environment, [markVariable]: undefined, [ownerVariable]: undefined },
  }
  return {
    async submit(request, { folder, tasks, name }) {
      const { array } = request
      const atOnce = array?.atOnce ? `%${array.atOnce}` : ''
      const merged = request.streams === 'merged'
      // A per cent sign begins a pattern (sbatch(1), filename pattern).
      const path = join(folder.replaceAll('%', '%%'), '%a')
      const words = [
        ...composeJob(request, partition),
        // With a variable named here, each task would first start a login shell for its environment, which
        // takes seconds (sbatch(1), --export).
        '--export=ALL',
        '--parsable',
        `--array=${joinTasks(tasks)}${atOnce}`,
        `--output=${path}.out`,
        ...(merged ? [] : [`--error=${path}.err`]),
        // A task that runs twice has two ends.
        '--no-requeue',
        '--open-mode=truncate',
        '--chdir=/',
      ]
      const script = composeTaskScript(request, describe(request, name))
      const answer = await callSlurm(unmarked, ['sbatch', ...words], script)
      const [, jobId] = /^(\d+)/.exec(answer.stdout) ?? []
      if (answer.ok && jobId !== undefined) return jobId
      throw new StartError('host_unreachable', `Slurm did not take the array: ${answer.failure}`)
    },

    async look(jobId) {
      const jobs = await listJobs(slurm, { id: jobId })
      if (jobs === null) return null
      const states = new Map<number, TaskState>()
      for (const job of jobs) {
        const task = Number(/_(\d+)$/.exec(job.id)?.[1])
        const stands = hasEnded(job) ? 'ended' : isWaiting(job) ? 'waits' : 'runs'
        if (Number.isInteger(task)) states.set(task, { stands, job })
      }
      return states
    },

    hasTold: (folder, name, task) =>
      readTail(join(folder, `${task}.out`)).includes(`${frameHead(name)}end `),

    async cancel(jobId, hard) {
      const words = hard ? ['--signal=KILL', '--full'] : []
      await callSlurm(slurm, ['scancel', ...words, jobId])
    },

    replay: (folder, name, task, state) => async (request, sink) => {
      const exited = replayTask({ folder, name, task, state, request, sink })
      return createRunning({
        pid: () => null,
        exited,
        stop: async () => ({ survivors: [] }),
      })
    },
  }
}

/** The script of every task: `SLURM_ARRAY_TASK_ID` is the number of its own. */
function composeTaskScript({ array, timeoutMs }: Request, remote: RemoteCommand): string {
  const commands = array?.commands ?? null
  const cases = commands?.map((command, index) => {
    const text = Buffer.from(command).toString('base64')
    return `${array?.tasks[index]}) command=$(printf %s ${text} | base64 -d; echo x);;`
  })
  const prelude = [
    'export NACRE_TASK="$SLURM_ARRAY_TASK_ID"',
    // The x keeps the newlines at the end of a command.
    ...(cases ? [`case $NACRE_TASK in ${cases.join('\n')} esac`, 'command=${command%x}'] : []),
  ]
  const own: RemoteCommand = {
    ...remote,
    input: { kind: 'none', text: null },
    ...(cases && { commandWord: '"$command"' }),
    // Tasks that share a machine are ended each by itself.
    markWord: `"${remote.mark}:$SLURM_ARRAY_TASK_ID:"`,
    tellsTime: true,
    ...(timeoutMs !== null && { deadlineSeconds: timeoutMs / 1000 }),
  }
  return `#!/bin/sh\n${prelude.join('\n')}\n${composeRunScript(own)}\n`
}

/** The last of a file of output, where the script tells the end of its task and Slurm why it killed it. */
const tailBytes = 4096

/** Empty where the file is not there yet. */
function readTail(path: string): string {
  try {
    const fd = openSync(path, 'r')
    try {
      const tail = Buffer.alloc(tailBytes)
      const { size } = fstatSync(fd)
      const count = readSync(fd, tail, 0, tailBytes, Math.max(0, size - tailBytes))
      return tail.toString('utf8', 0, count)
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}

interface Replay {
  folder: string
  name: string
  task: number
  state: TaskState | null
  request: Request
  sink: OutputSink
}

async function replayTask({ folder, name, task, state, request, sink }: Replay): Promise<Exit> {
  const follower = followFrames(request, name, sink)
  const paths = { stdout: join(folder, `${task}.out`), stderr: join(folder, `${task}.err`) }
  const merged = request.streams === 'merged'
  for (const stream of merged ? (['stdout'] as const) : (['stdout', 'stderr'] as const)) {
    const path = paths[stream]
    if (!existsSync(path)) continue
    for await (const bytes of createReadStream(path)) {
      await follower.write(stream, bytes as Buffer)
    }
  }
  const heard = follower.state
  const host = request.host ?? ''
  const told = describeEnd({ code: null, signal: null }, follower, host, request)
  if (heard.refused !== null || heard.timedOut || heard.code === 0) return told
  if (!heard.begun && state?.job.state === 'CANCELLED') return neverBegan()
  // Slurm says why it ended a task where the standard error of that goes.
  const lastWords = readTail(merged ? paths.stdout : paths.stderr)
  const bySlurm = state && describeJobEnd(state.job, { ...heard, lastWords })
  const beside = describeHeard(heard, request)
  if (bySlurm) return { ...bySlurm, ...beside }
  if (heard.code !== null) return told
  const where = heard.begun ? 'its end was not told' : `it has written nothing to ${folder}`
  const lost = `Task ${task} is lost: ${where}; do the nodes share that folder?`
  return { code: null, signal: null, lost, ...beside }
}
