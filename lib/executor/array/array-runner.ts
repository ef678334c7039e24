import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { availableParallelism } from 'node:os'
import { messageOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import {
  type Exit,
  type OutputSink,
  type Runner,
  type Running,
  StartError,
  type StopReport,
} from '../../protocol/ports.ts'
import { type ArrayRequest, hasSucceeded, type TaskEnd } from '../../protocol/array.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { StreamName } from '../../protocol/result/event.ts'
import type { ArtifactRef, Result, StopReason } from '../../protocol/result/result.ts'
import { openArrayScheduler, type SchedulerPlace } from '../../run/host/clients.ts'
import type { ArrayScheduler } from '../../run/host/slurm/array.ts'
import { createRunning } from '../../run/running.ts'
import { nowMs } from '../../system/clock.ts'
import type { LiveRun } from '../run.ts'
import { startQueue } from './queue.ts'
import {
  cancelPatienceMs,
  cancelRound,
  describeLeftRound,
  followRound,
  type ScheduledRound,
} from './scheduled.ts'
import { type ArrayRecord, type ArrayRound, type ArrayStore, createArrayStore } from './store.ts'
import { createTally } from './tally.ts'

export interface ArrayParts {
  /** Takes one task the way of every run, with `runner` in place of the one that its request names. */
  startTask(request: Request, runner?: Runner): Promise<LiveRun>
  /** The folder of the jobs; null: nothing is kept. */
  dir: string | null
  /** Addresses of hosts by their names. */
  named: Readonly<Record<string, string>>
  environment: SchedulerPlace['environment']
  cwd: string
}

/**
 * How many tasks run at once on one host: sshd allows 10 sessions over one connection (MaxSessions), and some
 * of these are kept for stopping tasks.
 */
const onHostAtOnce = 4

/**
 * Runs requests with an array: each task is a run of its own, a scheduler has them all at once, and
 * elsewhere a few run at a time. What they write comes task by task as they end.
 */
export function createArrayRunner(parts: ArrayParts): Runner {
  return async (request, sink) => {
    const array = request.array as ArrayRequest
    const store = parts.dir === null ? null : createArrayStore(parts.dir, request.id)
    const tally = createTally(array.tasks)
    const before = store?.readEnds() ?? []
    for (const end of before) tally.add(end)
    /** The directories in which the tasks began: several hosts have several. */
    const startedIn = new Set(before.map(({ result }) => result.cwd))
    const lost: string[] = []
    /** The output of the tasks is passed on one task after another, never mixed. */
    let last: Promise<unknown> = Promise.resolve()
    const pass = ({ task, result }: TaskEnd) =>
      passOutput(result, sink).catch((error: unknown) => {
        lost.push(`What task ${task} wrote cannot be read any more: ${messageOf(error)}`)
      })
    for (const end of before) last = last.then(() => pass(end))

    async function onEnd(end: TaskEnd): Promise<void> {
      tally.add(end)
      startedIn.add(end.result.cwd)
      store?.append(end)
      const counts = tally.count()
      last = last.then(() => pass(end)).then(() => sink.tellTask?.(end, counts))
      await last
    }

    const work = await openWork({ parts, request, array, store, tally, onEnd })
    const exited = work.done.then(async (notices): Promise<Exit> => {
      await last
      tally.setRunning([])
      const tasks = tally.summarize()
      const code = tasks.succeeded === tasks.total ? 0 : 1
      const [only = null, ...others] = startedIn
      const place = others.length > 0 ? null : only
      return { code, signal: null, tasks, startedIn: place, notices: [...notices, ...lost] }
    })
    return createRunning({
      pid: () => null,
      exited,
      stop: (reason, how) => work.stop(reason, how),
      tasks: () => tally.summarize(),
    })
  }
}

interface Work {
  /** Settles when no further task will begin. Gives the notices about them. */
  done: Promise<string[]>
  stop: Running['stop']
}

interface WorkParts {
  parts: ArrayParts
  request: Request
  array: ArrayRequest
  store: ArrayStore | null
  tally: ReturnType<typeof createTally>
  onEnd: (end: TaskEnd) => Promise<void>
}

async function openWork(work: WorkParts): Promise<Work> {
  const { parts, request, store } = work
  const record: ArrayRecord = {
    request,
    name: randomBytes(16).toString('hex'),
    place: null,
    rounds: [],
  }
  const hosts = request.host?.split(',').map((name) => name.trim()) ?? []
  const addresses = hosts.map((host) => parts.named[host] ?? host)
  const [address] = addresses
  const { PATH, SLURM_CONF } = parts.environment
  const place =
    address === undefined ? null : { address, environment: parts.environment, cwd: parts.cwd }
  const scheduler = place && openArrayScheduler(place)
  if (addresses.length > 1 && addresses.some((it) => it.startsWith('slurm:'))) {
    throw refuse('A scheduler runs an array alone: name one host')
  }
  if (!place || !scheduler) {
    store?.write(record)
    return queue(work, hosts)
  }
  if (store === null) throw refuse('An array of a scheduler needs a folder for its state')
  if (request.sandbox !== 'off')
    throw refuse('The sandbox of this machine does not reach to a scheduler')
  record.place = { ...place, environment: { PATH, SLURM_CONF } }
  return schedule(work, scheduler, store, record)
}

function refuse(message: string): StartError {
  return new StartError('invalid_array', message)
}

function queue({ parts, request, array, tally, onEnd }: WorkParts, hosts: string[]): Work {
  const places = hosts.length === 0 ? [null] : hosts
  const count = array.atOnce ?? (hosts.length === 0 ? availableParallelism() : onHostAtOnce)
  return startQueue({
    // Of an array that is taken up again some have ended.
    tasks: array.tasks.filter((task) => !tally.has(task)),
    // In turn: the first tasks go to different hosts.
    places: Array.from({ length: count }, () => places).flat(),
    retries: array.retries,
    start: (task, host) => parts.startTask(describeTask(request, task, host)),
    onRunning: (tasks) => tally.setRunning(tasks),
    onEnd,
  })
}

/**
 * The first round is handed to the scheduler before this returns, so that a refusal by the scheduler is the
 * answer to the whole array.
 */
async function schedule(
  { parts, request, array, tally, onEnd }: WorkParts,
  scheduler: ArrayScheduler,
  store: ArrayStore,
  record: ArrayRecord,
): Promise<Work> {
  const { folder } = store
  const { name } = record
  let stopping = false
  let giveUpAtMs = Infinity

  async function submit(tasks: readonly number[]): Promise<ArrayRound> {
    const jobId = await scheduler.submit(request, { folder, tasks, name })
    const round = { jobId, tasks }
    record.rounds.push(round)
    store.write(record)
    return round
  }

  async function follow(first: ArrayRound): Promise<string[]> {
    let round = first
    for (let tries = 1; ; tries++) {
      const again: number[] = []
      const scheduled: ScheduledRound = {
        scheduler,
        round,
        folder,
        name,
        taken: new Set(),
        async take(task, replay) {
          const run = await parts.startTask(describeTask(request, task, request.host), replay)
          const result = await run.ended
          // A task that was cancelled before it began has no end, as in an array that nacre itself runs.
          if (stopping && result.status === 'not_started') return
          if (hasSucceeded(result) || tries > array.retries || stopping) {
            await onEnd({ task, tries, result })
          } else again.push(task)
        },
        onRunning: (tasks) => tally.setRunning(tasks),
      }
      const isWhole = await followRound(scheduled, () => nowMs() > giveUpAtMs)
      if (!isWhole) return [describeLeftRound(round)]
      if (again.length === 0 || stopping) return []
      try {
        round = await submit(again)
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        return [`${error.message}; ${again.length} tasks were not tried again`]
      }
    }
  }

  store.write(record)
  const done = follow(await submit(array.tasks))
  return {
    done,
    async stop(_reason: StopReason): Promise<StopReport> {
      stopping = true
      const round = record.rounds.at(-1)
      if (round) await cancelRound({ scheduler, round }, request)
      giveUpAtMs = nowMs() + cancelPatienceMs
      return { survivors: [], notices: await done }
    },
  }
}

/** The request of one task: as that of the array, but that it runs once. */
export function describeTask(request: Request, task: number, host: string | null): Request {
  const commands = request.array?.commands ?? null
  const index = request.array?.tasks.indexOf(task) ?? -1
  return {
    ...request,
    id: createId('run'),
    array: null,
    host,
    command: commands?.[index] ?? request.command,
    env: { ...request.env, NACRE_TASK: String(task) },
    mode: 'default',
    waitMs: null,
    onTimeout: 'kill',
    // The very bytes that it wrote are given on at its end.
    artifact: 'exact',
    stdin: { kind: 'none' },
    outputTo: null,
    notices: [],
  }
}

/** Passes on the bytes that a task has written, each stream as a whole. */
async function passOutput(result: Result, sink: OutputSink): Promise<void> {
  const merged = result.output !== undefined
  const [first, second]: StreamName[] = merged ? ['output'] : ['stdout', 'stderr']
  await passStream(result.artifact, result.output ?? result.stdout ?? '', first ?? 'output', sink)
  if (second) await passStream(result.stderrArtifact ?? null, result.stderr ?? '', second, sink)
}

async function passStream(
  artifact: ArtifactRef | null,
  text: string,
  stream: StreamName,
  sink: OutputSink,
): Promise<void> {
  if (artifact === null) {
    if (text !== '') await sink.write(stream, Buffer.from(text))
    return
  }
  for await (const bytes of createReadStream(artifact.path)) {
    if ((await sink.write(stream, bytes as Buffer)) === 'closed') return
  }
}
