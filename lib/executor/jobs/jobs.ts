import type { JobEntry, JobFilter } from '../../protocol/result/reading.ts'
import { limits } from '../../protocol/limits.ts'
import type { StopOptions } from '../../protocol/ports.ts'
import { parseReady } from '../../protocol/request/parse-request.ts'
import type { Result, StopReason } from '../../protocol/result/result.ts'
import { startOf } from '../../protocol/words.ts'
import type { LiveRun } from '../run.ts'
import type { KnownJobs } from './known-jobs.ts'
import type { Taker } from './take-up.ts'
import { type Jobs, type JobWait, notFound } from './port.ts'

export interface JobTable extends Jobs {
  add(run: LiveRun): void
  /** The run has become a job. */
  leave(run: LiveRun): void
  readonly aliveCount: number
  /** The jobs of this process that run. */
  listOwn(): JobEntry[]
  stopAll(reason: StopReason, how?: StopOptions, which?: (run: LiveRun) => boolean): Promise<void>
  /** The end of a job, with its text, is on disk: nothing of it stays here. */
  release(run: LiveRun): void
}

/** Ended jobs of this process that stay in memory where they cannot be kept on disk. */
const keptAfterEnd = 64

/** `openKnown` gives the jobs of all nacres; null where nothing is kept. */
export function createJobs(openKnown: () => Promise<KnownJobs> | null): JobTable {
  const alive = new Map<string, LiveRun>()
  const ended = new Map<string, LiveRun>()

  const own = (id: string) => alive.get(id) ?? ended.get(id)
  const ownJobs = () => [...ended.values(), ...alive.values()].filter((run) => run.isJob)

  /** Finds a job: a run of this process, or a job that another nacre holds or that has ended. */
  async function locate(given: string): Promise<LiveRun | { id: string; known: KnownJobs }> {
    const run = own(given)
    if (run) return run
    const known = await openKnown()
    if (known === null) throw notFound(given)
    const id = known.resolve(given)
    return own(id) ?? { id, known }
  }

  function keep(run: LiveRun): void {
    ended.set(run.id, run)
    const [oldest] = ended.keys()
    if (ended.size > keptAfterEnd && oldest !== undefined) ended.delete(oldest)
  }

  async function wait(id: string, given: JobWait = {}): Promise<Result> {
    const timeoutSeconds = Math.min(given.timeoutSeconds ?? Infinity, limits.jobWaitSeconds)
    const ready = given.ready === undefined ? null : parseReady(given.ready)
    const place = await locate(id)
    return 'known' in place
      ? place.known.wait(place.id, { ...given, timeoutSeconds })
      : place.waitAtMost({ timeoutMs: timeoutSeconds * 1000, ready, signal: given.signal })
  }

  return {
    find(id) {
      const run = own(id)
      if (run) return run
      throw notFound(id)
    },
    get aliveCount() {
      return alive.size
    },
    listOwn: () => [...alive.values()].filter((run) => run.isJob).map((run) => run.describe()),
    add(run) {
      alive.set(run.id, run)
      const retire = () => {
        alive.delete(run.id)
        if (run.isJob) keep(run)
      }
      // A failure reaches whoever waits for the run; for the table of jobs the run is over either way.
      run.ended.then(retire, retire)
    },
    leave(run) {
      if (!alive.has(run.id)) keep(run)
    },

    async list({ status, limit } = {}) {
      const known = await openKnown()
      const others = (await known?.list({ runningOnly: status === 'running' })) ?? []
      const entries = [
        ...others.filter(({ id }) => !own(id)?.isJob),
        ...ownJobs().map((run) => run.describe()),
      ]
      const wanted = entries
        .filter((job) => matches(job, status))
        .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
      return limit === undefined ? wanted : wanted.slice(-limit)
    },
    ownerOf: async (id) => own(id)?.request.belongsTo ?? (await openKnown())?.ownerOf(id) ?? null,
    listDamaged: async () => (await openKnown())?.listDamaged() ?? [],
    async show(id) {
      const place = await locate(id)
      return 'known' in place ? place.known.show(place.id) : place.look()
    },
    async read(id, reading = {}) {
      const place = await locate(id)
      return 'known' in place ? place.known.read(place.id, reading) : place.read(reading)
    },
    async resume(given) {
      const place = await locate(given)
      return 'known' in place ? place.known.resume(place.id) : place.look()
    },
    async tasks(given) {
      const known = await openKnown()
      if (known === null) throw notFound(given)
      return known.tasks(known.resolve(given))
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
    async follow(id, follower, signal) {
      const place = await locate(id)
      if ('known' in place) return place.known.follow(place.id, follower, signal)
      const { followRun } = await import('./holder.ts')
      return followRun(place, follower, signal)
    },
    async write(id, data, { end = false } = {}) {
      const place = await locate(id)
      if ('known' in place) return place.known.write(place.id, data, end)
      const written = data === '' ? null : place.write(data)
      if (end) place.endInput()
      await written
    },
    async resize(id, columns, rows) {
      const place = await locate(id)
      if ('known' in place) await place.known.resize(place.id, columns, rows)
      else place.resize(columns, rows)
    },
    async kill(id, reason = 'kill') {
      const place = await locate(id)
      return 'known' in place ? place.known.kill(place.id, reason) : place.stop(reason)
    },
    async stopAll(reason, how, which = () => true) {
      await Promise.all([...alive.values()].filter(which).map((run) => run.stop(reason, how)))
    },
    release(run) {
      ended.delete(run.id)
    },
  }
}

/** The jobs of every nacre of this user, for a process that holds none. `dir` is their folder. */
export function openJobs(dir: string, taker: Taker | null = null): Jobs {
  return createJobs(async () => (await import('./known-jobs.ts')).openKnownJobs(dir, taker))
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
