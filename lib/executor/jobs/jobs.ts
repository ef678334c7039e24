import { limits } from '../../protocol/limits.ts'
import type { StopOptions } from '../../protocol/ports.ts'
import { parseReady } from '../../protocol/request/parse-request.ts'
import type { JobEntry, JobFilter } from '../../protocol/result/reading.ts'
import type { Result, StopReason } from '../../protocol/result/result.ts'
import { startOf } from '../../protocol/words.ts'
import type { HolderStart } from '../options.ts'
import type { LiveRun } from '../run.ts'
import type { KnownJobs } from './known-jobs.ts'
import { type Follower, type Job, type Jobs, type JobWait, notFound } from './port.ts'

/** Ended jobs of this process that stay in memory. */
const keptAfterEnd = 64

/** `openKnown` gives the jobs that have records; null where nothing is kept. */
export function createJobs(openKnown: () => Promise<KnownJobs> | null) {
  const alive = new Map<string, LiveRun>()
  const ended = new Map<string, LiveRun>()

  const own = (id: string) => alive.get(id) ?? ended.get(id)

  async function locate(given: string): Promise<Job> {
    const run = own(given)
    if (run) return jobOf(run)
    const known = await resolve(given)
    const resolved = own(known.id)
    return resolved ? jobOf(resolved) : known.jobs.open(known.id)
  }

  async function resolve(given: string): Promise<{ jobs: KnownJobs; id: string }> {
    const jobs = await openKnown()
    if (jobs === null) throw notFound(given)
    return { jobs, id: jobs.resolve(given) }
  }

  function keep(run: LiveRun): void {
    ended.set(run.id, run)
    const [oldest] = ended.keys()
    if (ended.size > keptAfterEnd && oldest !== undefined) ended.delete(oldest)
  }

  async function wait(id: string, given: JobWait = {}): Promise<Result> {
    const timeoutSeconds = Math.min(given.timeoutSeconds ?? Infinity, limits.jobWaitSeconds)
    return (await locate(id)).wait({ ...given, timeoutSeconds })
  }

  const jobs: Jobs = {
    find(id) {
      const run = own(id)
      if (run) return run
      throw notFound(id)
    },
    async list({ status, limit } = {}) {
      const known = await (await openKnown())?.list({ runningOnly: status === 'running' })
      const { describeRecord, recordOf } = await import('./record.ts')
      const ownJobs = [...ended.values(), ...alive.values()].filter((run) => run.isJob)
      const wanted = [
        ...(known ?? []).filter(({ id }) => !own(id)?.isJob),
        ...ownJobs.map((run) => describeRecord(recordOf(run))),
      ]
        .filter((job) => matches(job, status))
        .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
      return limit === undefined ? wanted : wanted.slice(-limit)
    },
    ownerOf: async (id) => own(id)?.request.belongsTo ?? (await openKnown())?.ownerOf(id) ?? null,
    boundsOf: async (id) => own(id)?.running?.bounds ?? (await openKnown())?.boundsOf(id) ?? null,
    listDamaged: async () => (await openKnown())?.listDamaged() ?? [],
    show: async (id) => (await locate(id)).show(),
    read: async (id, reading = {}) => (await locate(id)).read(reading),
    async tasks(given) {
      const { jobs, id } = await resolve(given)
      return jobs.tasks(id)
    },
    wait,
    async waitFor(ids, { any = false, signal, ...given } = {}) {
      const first = new AbortController()
      const either = signal ? AbortSignal.any([signal, first.signal]) : first.signal
      return Promise.all(
        ids.map(async (id) => {
          const result = await wait(id, { ...given, signal: either })
          if (any) first.abort()
          return result
        }),
      )
    },
    follow: async (id, follower, signal) => (await locate(id)).follow(follower, signal),
    write: async (id, data, { end = false } = {}) => (await locate(id)).write(data, end),
    resize: async (id, columns, rows) => (await locate(id)).resize(columns, rows),
    kill: async (id, reason = 'kill') => (await locate(id)).kill(reason),
  }

  return {
    jobs,
    add(run: LiveRun): void {
      alive.set(run.id, run)
      const retire = () => {
        alive.delete(run.id)
        if (run.isJob) keep(run)
      }
      // A failure reaches whoever waits for the run; for the table the run is over either way.
      run.ended.then(retire, retire)
    },
    /** Its caller waits no more for the run. */
    leave: (run: LiveRun): void => {
      if (!alive.has(run.id)) keep(run)
    },
    get aliveCount() {
      return alive.size
    },
    /** The jobs of this process that run. */
    listOwn: () => [...alive.values()].filter((run) => run.isJob).map(({ request }) => request),
    async stopAll(
      reason: StopReason,
      how?: StopOptions,
      which: (run: LiveRun) => boolean = () => true,
    ): Promise<void> {
      await Promise.all([...alive.values()].filter(which).map((run) => run.stop(reason, how)))
    },
  }
}

/** The jobs of every nacre of this user, for a process that holds none. `dir` is their folder. */
export function openJobs(dir: string, holder: HolderStart | null = null): Jobs {
  return createJobs(async () => (await import('./known-jobs.ts')).openKnownJobs(dir, holder)).jobs
}

/** A run of this process as a job. */
function jobOf(run: LiveRun): Job {
  return {
    show: async () => run.look(),
    read: async (reading) => run.read(reading),
    wait: async ({ timeoutSeconds, ready, signal }) =>
      run.waitAtMost({
        timeoutMs: timeoutSeconds * 1000,
        ready: ready === undefined ? null : parseReady(ready),
        signal,
      }),
    follow: (follower, signal) => followRun(run, follower, signal),
    async write(data, end) {
      const written = data === '' ? null : run.write(data)
      if (end) run.endInput()
      await written
    },
    resize: async (columns, rows) => run.resize(columns, rows),
    kill: (reason) => run.stop(reason),
  }
}

/** Tells what a run of this process writes from now on, and its end. */
async function followRun(run: LiveRun, follower: Follower, signal: AbortSignal): Promise<Result> {
  if (signal.aborted) return run.look()
  const events = run.events[Symbol.asyncIterator]()
  const leave = () => void events.return?.()
  signal.addEventListener('abort', leave, { once: true })
  const { notifyOfRun } = await import('../../wire/messages.ts')
  const tell = notifyOfRun(follower, true)
  let final: Result | null = null
  for await (const event of { [Symbol.asyncIterator]: () => events }) {
    // The run itself knows of its end only when everybody has heard of it.
    if (event.type === 'exited') final = event.result
    if (event.type !== 'started' && (await tell(event)) === 'closed') break
  }
  signal.removeEventListener('abort', leave)
  return final ?? run.look()
}

function matches({ status }: JobEntry, wanted: JobFilter['status']): boolean {
  if (wanted === undefined) return true
  return wanted === 'ended' ? status !== 'running' : status === wanted
}

/** Why no more job can be started now; null where one can. `mayName`: the caller may know of all of them. */
export function refuseJob(
  alive: readonly Pick<JobEntry, 'id' | 'command'>[],
  mayName: boolean,
): { code: string; message: string } | null {
  if (alive.length < limits.jobs) return null
  const some = alive.slice(0, 3).map(({ id, command }) => `${id} (${startOf(command, 40)})`)
  const example = mayName ? `, for example ${some.join(', ')}` : ''
  const message = `${alive.length} jobs are alive, and no more than ${limits.jobs} may be; stop one first${example}`
  return { code: 'too_many_jobs', message }
}
