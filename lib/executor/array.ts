import { createReadStream } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { type ArrayRequest, hasSucceeded, type TaskEnd } from '../protocol/array.ts'
import { messageOf } from '../protocol/errors.ts'
import {
  type Exit,
  type OutputSink,
  type Runner,
  type Running,
  StartError,
  type StopOptions,
} from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { StreamName } from '../protocol/result/event.ts'
import type { ArtifactRef, Result, StopReason } from '../protocol/result/result.ts'
import { createId } from '../protocol/wire.ts'
import { createRunning } from '../run/running.ts'
import { type ArrayRound, type ArrayScheduler, openArrayScheduler } from '../run/slurm/array.ts'
import { pause } from '../system/clock.ts'
import type { LiveRun } from './run.ts'
import { openLedger, type RunningTask, type TaskLedger } from './task-ledger.ts'

export interface ArrayParts {
  /** Takes one task the way of every run, with `runner` in place of the one that its request names. */
  startTask(request: Request, runner?: Runner): Promise<LiveRun>
  /** The folder of the jobs; null: nothing is kept. */
  dir: string | null
  /** Addresses of hosts by their names. */
  named: Readonly<Record<string, string>>
  environment: Readonly<Record<string, string | undefined>>
  cwd: string
}

/**
 * How many tasks run at once on one host: sshd allows 10 sessions over one connection (MaxSessions), and some
 * of these are kept for stopping tasks.
 */
const onHostAtOnce = 4

/**
 * Runs requests with an array: each task is a run of its own, a scheduler has them all at once, and
 * elsewhere a few run at a time. What they write comes task by task as they end. An array that another nacre
 * has begun goes on with the tasks that have not ended.
 */
export function createArrayRunner(parts: ArrayParts): Runner {
  return async (given, sink) => {
    const { hosts, scheduler } = findHosts(given, parts)
    const array = given.array as ArrayRequest
    const ledger = openLedger(parts.dir, given.id, {
      tasks: array.tasks,
      cwd: resolve(parts.cwd, given.cwdGiven ? given.cwd : '.'),
    })
    // The nodes of a scheduler see the same files, so that a task begins in the directory of this nacre.
    const request = scheduler ? { ...given, cwd: ledger.head.cwd, cwdGiven: true } : given
    const lost: string[] = []
    /** The output of the tasks is passed on one task after another, never mixed. */
    let last: Promise<unknown> = Promise.resolve()
    const pass = ({ task, result }: TaskEnd) =>
      passOutput(result, sink).catch((error: unknown) => {
        lost.push(`What task ${task} wrote cannot be read any more: ${messageOf(error)}`)
      })
    for (const end of ledger.ends()) last = last.then(() => pass(end))

    const tasks: Tasks = {
      request,
      array,
      ledger,
      start: (task, host, runner) => parts.startTask(describeTask(request, task, host), runner),
      async end(end) {
        ledger.add(end)
        const counts = ledger.counts()
        last = last.then(() => pass(end)).then(() => sink.tellTask?.(end, counts))
        await last
      },
    }
    const work = scheduler ? await schedule(tasks, scheduler) : queue(tasks, hosts)
    const exited = work.done.then(async (notices): Promise<Exit> => {
      await last
      ledger.setRunning([])
      const summary = ledger.summarize()
      const code = summary.succeeded === summary.total ? 0 : 1
      const [place = null, ...others] = new Set(ledger.ends().map(({ result }) => result.cwd))
      const startedIn = others.length > 0 ? null : place
      const told = [...notices, ...lost, ...ledger.tellUnwritten()]
      return { code, signal: null, tasks: summary, startedIn, notices: told }
    })
    return createRunning({
      exited,
      stop: work.stop,
      tasks: () => ledger.summarize(),
      kept: scheduler && { address: hosts[0] ?? '', name: ledger.head.name },
    })
  }
}

/** The hosts of an array, and the scheduler if its host is one. Throws `StartError`. */
function findHosts({ host, sandbox }: Request, { named, dir, environment }: ArrayParts) {
  const refuse = (message: string) => new StartError('invalid_array', message)
  const hosts = host?.split(',').map((name) => name.trim()) ?? []
  const addresses = hosts.map((name) => named[name] ?? name)
  if (addresses.length > 1 && addresses.some((it) => it.startsWith('slurm:'))) {
    throw refuse('A scheduler runs an array alone: name one host')
  }
  const [address] = addresses
  const scheduler = address === undefined ? null : openArrayScheduler(address, environment)
  if (scheduler && dir === null)
    throw refuse('An array of a scheduler needs a folder for its state')
  if (scheduler && sandbox !== 'off') {
    throw refuse('The sandbox of this machine does not reach to a scheduler')
  }
  return { hosts, scheduler }
}

/** The tasks of one array, while this nacre runs it. */
interface Tasks {
  /** That of the whole array. */
  request: Request
  array: ArrayRequest
  ledger: TaskLedger
  start: (task: number, host: string | null, runner?: Runner) => Promise<LiveRun>
  /** Takes the end of a task, after its last try. */
  end: (end: TaskEnd) => Promise<void>
}

interface Work {
  /** Settles when no further task will begin. Gives the notices about them. */
  done: Promise<string[]>
  stop: (...how: Parameters<Running['stop']>) => ReturnType<Running['stop']>
}

/** Runs a few tasks at a time, where no scheduler does that. */
function queue({ array, ledger, start, end }: Tasks, hosts: readonly string[]): Work {
  const count = array.atOnce ?? (hosts.length === 0 ? availableParallelism() : onHostAtOnce)
  const waiting = ledger.left().map((task) => ({ task, tries: 0 }))
  const running = new Map<LiveRun, RunningTask>()
  /** Hosts that refused a connection; they are left out while other hosts answer. */
  const closedHosts = new Map<string, string>()
  let stopping: [StopReason, StopOptions | undefined] | null = null
  const reports: Promise<Result>[] = []

  async function runTask(task: number, host: string | null): Promise<Result> {
    const run = await start(task, host)
    running.set(run, { task, host })
    ledger.setRunning([...running.values()])
    if (stopping) reports.push(run.stop(...stopping))
    const result = await run.ended
    running.delete(run)
    ledger.setRunning([...running.values()])
    return result
  }

  /** Runs tasks one after another at one place, until none is left. */
  async function work(host: string | null): Promise<void> {
    while (!stopping && !closedHosts.has(host ?? '')) {
      const next = waiting.shift()
      if (next === undefined) return
      const result = await runTask(next.task, host)
      const tries = next.tries + 1
      const isUnreachable = result.error?.code === 'host_unreachable'
      if (isUnreachable && hosts.some((it) => it !== host && !closedHosts.has(it))) {
        closedHosts.set(host ?? '', result.error?.message ?? '')
        waiting.unshift(next)
      } else if (!hasSucceeded(result) && tries <= array.retries && !stopping) {
        waiting.push({ task: next.task, tries })
      } else await end({ task: next.task, tries, result })
    }
  }

  async function workAll(): Promise<string[]> {
    const places = hosts.length === 0 ? [null] : hosts
    // In turn: the first tasks go to different hosts.
    const workers = Array.from({ length: count }, () => places).flat()
    // A task that is tried again may come when others have found nothing left to do.
    while (waiting.length > 0 && !stopping) await Promise.all(workers.map(work))
    return [...closedHosts.values()].map((why) => `${why}; its tasks ran elsewhere`)
  }

  const done = workAll()
  return {
    done,
    async stop(...how) {
      stopping ??= [how[0], how[1]]
      for (const run of running.keys()) reports.push(run.stop(...how))
      await done
      const results = await Promise.all(reports)
      return { survivors: results.flatMap(({ survivors }) => survivors) }
    },
  }
}

/** How often a scheduler is asked: soon again while tasks end, seldom while nothing happens. */
const lookMs = { first: 100, longest: 2000 }

/**
 * Has a scheduler run all tasks at once. The first round is handed over before this returns, so that a refusal
 * by the scheduler is the answer to the whole array.
 */
async function schedule(
  { request, array, ledger, start, end }: Tasks,
  scheduler: ArrayScheduler,
): Promise<Work> {
  const { rounds } = ledger
  const files = { folder: ledger.folder ?? '', name: ledger.head.name }
  const stopping = new AbortController()
  /** What is left is not waited for. */
  let isGivenUp = false

  async function submit(tasks: readonly number[]): Promise<ArrayRound> {
    const round = await scheduler.submit(request, files, tasks)
    ledger.addRound(round)
    return round
  }

  /** Takes the ends of the tasks of a round. Gives those to try again. */
  async function follow({ jobId, tasks }: ArrayRound): Promise<number[]> {
    const tries = rounds.length
    const unended = new Set(ledger.left())
    let left = tasks.filter((task) => unended.has(task))
    const again: number[] = []
    let pauseMs = lookMs.first
    for (;;) {
      const before = left.length
      const isLast = isGivenUp
      const state = await scheduler.look({ jobId, tasks: left }, files)
      for (const { task, replay } of state?.ended ?? []) {
        const result = await (await start(task, request.host, replay)).ended
        if (!hasSucceeded(result) && tries <= array.retries && !stopping.signal.aborted) {
          again.push(task)
          // A task that was cancelled before it began has no end, as in an array that nacre itself runs.
        } else if (!stopping.signal.aborted || result.status !== 'not_started') {
          await end({ task, tries, result })
        }
      }
      if (state) {
        ledger.setRunning(state.running)
        const ended = new Set(state.ended.map(({ task }) => task))
        left = left.filter((task) => !ended.has(task))
      }
      if (left.length === 0 || isLast) return again
      pauseMs = left.length < before ? lookMs.first : Math.min(lookMs.longest, pauseMs * 1.5)
      if (stopping.signal.aborted) await pause(lookMs.first)
      else await pause(pauseMs, stopping.signal)
    }
  }

  async function followAll(first: ArrayRound): Promise<string[]> {
    let round = first
    for (;;) {
      const again = await follow(round)
      if (again.length === 0 || stopping.signal.aborted) return []
      try {
        round = await submit(again)
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        return [`${error.message}; ${again.length} tasks were not tried again`]
      }
    }
  }

  const done = followAll(rounds.at(-1) ?? (await submit(array.tasks)))
  return {
    done,
    async stop() {
      stopping.abort()
      const round = rounds.at(-1)
      const report = round && (await scheduler.cancel(round, request.killAfterMs))
      isGivenUp = true
      await done
      return report ?? { survivors: [] }
    },
  }
}

/** The request of one task: as that of the array, but that it runs once. */
function describeTask(request: Request, task: number, host: string | null): Request {
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
  const { output, stdout = '', stderr = '', artifact, stderrArtifact = null } = result
  if (output !== undefined) return passStream(artifact, output, 'output', sink)
  await passStream(artifact, stdout, 'stdout', sink)
  await passStream(stderrArtifact, stderr, 'stderr', sink)
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
