import { MisuseError } from '../protocol/errors.ts'
import type { JobOutput } from '../protocol/job-output.ts'
import { limits } from '../protocol/limits.ts'
import type { Reading } from '../protocol/reading.ts'
import type { StopReason, Result } from '../protocol/result.ts'
import type { LiveRun, Run } from './run.ts'
import { waitAtMost } from './wait.ts'

export type { JobOutput } from '../protocol/job-output.ts'

/**
 * The runs of one executor that are under way, and those of its jobs that have ended lately. Unknown
 * ids are misuse.
 */
export interface Jobs {
  /** A run under way, also one whose start is yet to be told, or a job that has ended. */
  find(id: string): Run
  list(): Result[]
  show(id: string): Result
  /** Its caller waits no more: it is a job from now on. Gives how it stands. */
  detach(id: string): Result
  read(id: string, reading?: Reading): JobOutput
  /** Waits for the end, at most 300 s. */
  wait(id: string, timeoutSeconds: number): Promise<Result>
  /** To its terminal, or to its open standard input, in order; settles when it has been taken. */
  write(id: string, text: string): Promise<void>
  /** The end of its input, after what was written. */
  endInput(id: string): void
  resize(id: string, columns: number, rows: number): void
  /** Settles when nothing of it is alive any more. */
  kill(id: string, reason?: StopReason): Promise<Result>
}

export interface JobTable extends Jobs {
  find(id: string): LiveRun
  add(run: LiveRun): void
  /** The run has become a job. */
  leave(run: LiveRun): void
  readonly aliveCount: number
  stopAll(reason: StopReason): Promise<void>
}

/** Jobs that stay readable after their end. */
const keptAfterEnd = 64

export function createJobs(): JobTable {
  const alive = new Map<string, LiveRun>()
  const ended = new Map<string, LiveRun>()

  function find(id: string): LiveRun {
    const run = alive.get(id) ?? ended.get(id)
    if (run) return run
    throw new MisuseError(
      'not_found',
      `There is no job \`${id}\`; list the jobs to see their ids`,
      'job_id',
    )
  }

  function retire(run: LiveRun): void {
    alive.delete(run.id)
    if (run.isJob) keep(run)
  }

  function keep(run: LiveRun): void {
    ended.set(run.id, run)
    const [oldest] = ended.keys()
    if (ended.size > keptAfterEnd && oldest !== undefined) ended.delete(oldest)
  }

  return {
    find,
    get aliveCount() {
      return alive.size
    },
    add(run) {
      alive.set(run.id, run)
      const end = () => retire(run)
      // Who waits for it hears of a failure; here it is over, either way.
      run.ended.then(end, end)
    },
    leave(run) {
      if (!alive.has(run.id)) keep(run)
    },
    list: () =>
      [...ended.values(), ...alive.values()].filter((run) => run.isJob).map((run) => run.look()),
    detach: (id) => find(id).detach(),
    show: (id) => find(id).look(),
    read: (id, reading) => find(id).read(reading),
    wait: (id, timeoutSeconds) =>
      waitAtMost(find(id), Math.min(timeoutSeconds, limits.jobWaitSeconds) * 1000),
    write: async (id, text) => find(id).write(text),
    endInput: (id) => find(id).endInput(),
    resize: (id, columns, rows) => find(id).resize(columns, rows),
    kill: async (id, reason = 'kill') => find(id).stop(reason),
    async stopAll(reason) {
      await Promise.all([...alive.values()].map((run) => run.stop(reason)))
    },
  }
}

/** Why no more job can be started now; null where one can. */
export function refuseJob(alive: number): { code: string; message: string } | null {
  if (alive < limits.jobs) return null
  const message = `${alive} jobs are alive, and no more than ${limits.jobs} may be; stop one first`
  return { code: 'too_many_jobs', message }
}
