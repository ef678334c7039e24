import { closeSync, createReadStream, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Exit,
  type OutputSink,
  type Runner,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import { joinTasks } from '../../protocol/array.ts'
import { parseHostAddress } from '../../protocol/request/host-address.ts'
import type { Request } from '../../protocol/request/request.ts'
import { quoteWord } from '../../protocol/words.ts'
import { markVariable, ownerVariable } from '../../system/process/own-process.ts'
import { waitUntil } from '../../system/clock.ts'
import type { ClientEnvironment } from '../host/client.ts'
import { describeEnd, followFrames } from '../host/follower.ts'
import { frameHead } from '../host/frames.ts'
import { composeRunScript, markThere, type RunScript } from '../host/script.ts'
import { createRunning } from '../running.ts'
import { composeJob } from './client.ts'
import {
  callSlurm,
  cancelJobs,
  describeJobEnd,
  hasEnded,
  isWaiting,
  listJobs,
  type SlurmJob,
} from './jobs.ts'

/** Where the output of tasks lies, which the nodes share, and what names the frames of their scripts. */
export interface TaskFiles {
  folder: string
  name: string
}

/** What a scheduler was handed at once. */
export interface ArrayRound {
  jobId: string
  tasks: readonly number[]
}

/** How the tasks of a round stand that were asked about. */
interface RoundState {
  running: { task: number; host: string | null }[]
  /** `replay` passes on what the task has written, and how it ended. */
  ended: { task: number; replay: Runner }[]
}

/** What runs an array as a whole. */
export interface ArrayScheduler {
  /** Hands over some tasks of an array. Rejects with `StartError`. */
  submit(request: Request, files: TaskFiles, tasks: readonly number[]): Promise<ArrayRound>
  /** Null if the scheduler does not answer. */
  look(round: ArrayRound, files: TaskFiles): Promise<RoundState | null>
  /** Ends what is left of it. Settles when nothing of it runs any more. */
  cancel(round: ArrayRound, graceMs: number): Promise<StopReport>
}

/** The scheduler that an address names; null if that is none. Throws `MisuseError`. */
export function openArrayScheduler(
  address: string,
  environment: ClientEnvironment,
): ArrayScheduler | null {
  const parsed = parseHostAddress(address)
  if (parsed.kind !== 'slurm') return null
  /** Each side knows its own marks. */
  const unmarked = { ...environment, [markVariable]: undefined, [ownerVariable]: undefined }
  return {
    async submit(request, { folder, name }, tasks) {
      const atOnce = request.array?.atOnce ? `%${request.array.atOnce}` : ''
      // A per cent sign begins a pattern (sbatch(1), filename pattern).
      const path = join(folder.replaceAll('%', '%%'), '%a')
      const words = [
        ...composeJob(request, parsed.partition),
        // With a variable named here, each task would first start a login shell for its environment, which
        // takes seconds (sbatch(1), --export).
        '--export=ALL',
        '--parsable',
        `--array=${joinTasks(tasks)}${atOnce}`,
        `--output=${path}.out`,
        ...(request.streams === 'merged' ? [] : [`--error=${path}.err`]),
        // A task that runs twice has two ends.
        '--no-requeue',
        '--open-mode=truncate',
        '--chdir=/',
      ]
      const script = composeTaskScript(request, name)
      const answer = await callSlurm(unmarked, ['sbatch', ...words], script)
      const [, jobId] = /^(\d+)/.exec(answer.stdout) ?? []
      if (answer.ok && jobId !== undefined) return { jobId, tasks }
      throw new StartError('host_unreachable', `Slurm did not take the array: ${answer.failure}`)
    },

    async look({ jobId, tasks }, files) {
      const listed = await listJobs(environment, { id: jobId })
      if (listed === null) return null
      const jobs = new Map(listed.map((job) => [Number(/_(\d+)$/.exec(job.id)?.[1]), job]))
      const state: RoundState = { running: [], ended: [] }
      for (const task of tasks) {
        // Slurm forgets jobs some time after their end.
        const job = jobs.get(task) ?? null
        if (job && isWaiting(job)) continue
        if (job && !hasEnded(job)) state.running.push({ task, host: job.nodes || null })
        else state.ended.push({ task, replay: createReplay({ ...files, task, job }) })
      }
      return state
    },

    cancel: ({ jobId }, graceMs) => cancelJobs(environment, { id: jobId }, graceMs),
  }
}

/** The script of every task: `SLURM_ARRAY_TASK_ID` is the number of its own. */
function composeTaskScript(request: Request, name: string): string {
  const { array, timeoutMs } = request
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
  const run: RunScript = {
    name,
    startsIn: request.cwd,
    isAlone: true,
    ...(cases && { command: '"$command"' }),
    // Tasks that share a machine are ended each by itself.
    mark: `${quoteWord(markThere(request.id))}":$SLURM_ARRAY_TASK_ID:"`,
    ...(timeoutMs !== null && { deadlineSeconds: Math.ceil(timeoutMs / 1000) }),
  }
  return `#!/bin/sh\n${prelude.join('\n')}\n${composeRunScript({ ...request, stdin: { kind: 'none' } }, run)}\n`
}

interface EndedTask extends TaskFiles {
  task: number
  /** Null: Slurm has forgotten it. */
  job: SlurmJob | null
}

function createReplay(ended: EndedTask): Runner {
  return async (request, sink) =>
    createRunning({
      exited: replayTask(ended, request, sink),
      stop: async () => ({ survivors: [] }),
    })
}

/** A file that a node has written may be seen here so much later (nfs(5), acregmax). */
const fileLagMs = 5000

async function replayTask(
  { folder, name, task, job }: EndedTask,
  request: Request,
  sink: OutputSink,
): Promise<Exit> {
  const paths = { stdout: join(folder, `${task}.out`), stderr: join(folder, `${task}.err`) }
  const merged = request.streams === 'merged'
  if (job?.state === 'COMPLETED') {
    const hasTold = () => readTail(paths.stdout).includes(`${frameHead(name)}end `)
    await waitUntil(hasTold, { everyMs: 50, mostMs: fileLagMs })
  }
  const follower = followFrames(request, name, sink)
  for (const stream of merged ? (['stdout'] as const) : (['stdout', 'stderr'] as const)) {
    const path = paths[stream]
    if (!existsSync(path)) continue
    for await (const bytes of createReadStream(path)) {
      await follower.write(stream, bytes as Buffer)
    }
  }
  const heard = follower.state
  const exit = { code: null, signal: null }
  const describe = (known?: Exit) => describeEnd(exit, follower, request.host ?? '', request, known)
  if (heard.refused || heard.timedOut || heard.code === 0) return describe()
  // Slurm says why it ended a task where the standard error of that goes.
  const lastWords = readTail(merged ? paths.stdout : paths.stderr)
  const bySlurm = job && describeJobEnd(job, { ...heard, lastWords })
  if (bySlurm) return describe(bySlurm)
  if (heard.code !== undefined) return describe()
  const where = heard.begun ? 'its end was not told' : `it has written nothing to ${folder}`
  return describe({
    ...exit,
    lost: `Task ${task} is lost: ${where}; do the nodes share that folder?`,
  })
}

/** The last of a file of output, where the script tells the end of its task and Slurm why it killed it. */
const tailBytes = 4096

/** Empty if the file is not there yet. */
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
