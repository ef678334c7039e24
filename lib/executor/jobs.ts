import { MisuseError } from '../protocol/errors.ts'
import type { JobOutput } from '../protocol/job-output.ts'
import { limits } from '../protocol/limits.ts'
import type { StopReason, Result } from '../protocol/result.ts'
import type { Task } from './task.ts'
import { waitAtMost } from './wait.ts'

export type { JobOutput } from '../protocol/job-output.ts'

/** The runs of one executor that are under way or have ended lately. Unknown ids are misuse. */
export interface Jobs {
  list(): Result[]
  show(id: string): Result
  /** Its caller waits no more: it is a job from now on. Gives how it stands. */
  detach(id: string): Result
  read(id: string, cursor?: number): JobOutput
  /** Waits for the end, at most 300 s. */
  wait(id: string, timeoutSeconds: number): Promise<Result>
  /** To its terminal, or to its open standard input, in order. Misuse where it reads nothing. */
  write(id: string, text: string): void
  /** The end of its input, after what was written. */
  endInput(id: string): void
  /** Settles when all that was written has been taken; rejects with misuse where it was not. */
  drainInput(id: string): Promise<void>
  resize(id: string, columns: number, rows: number): void
  /** Settles when nothing of it is alive any more. */
  kill(id: string, reason?: StopReason): Promise<Result>
}

export interface JobTable extends Jobs {
  find(id: string): Task
  add(task: Task): void
  readonly aliveCount: number
  stopAll(reason: StopReason): Promise<void>
}

/** Ended runs that stay readable: so many jobs, and so many others. */
const keptAfterEnd = 64

export function createJobs(): JobTable {
  const alive = new Map<string, Task>()
  const ended = new Map<string, Task>()
  const endedJobs = new Map<string, Task>()
  const left = new WeakSet<Task>()

  function find(id: string): Task {
    const task = alive.get(id) ?? endedJobs.get(id) ?? ended.get(id)
    if (task) return task
    throw new MisuseError(
      'not_found',
      `There is no job \`${id}\`; list the jobs to see their ids`,
      'job_id',
    )
  }

  function retire(task: Task): void {
    alive.delete(task.request.id)
    // Runs whose result somebody has do not crowd out those that are yet to be read.
    const kept = left.has(task) ? endedJobs : ended
    kept.set(task.request.id, task)
    const [oldest] = kept.keys()
    if (kept.size > keptAfterEnd && oldest !== undefined) kept.delete(oldest)
  }

  return {
    find,
    get aliveCount() {
      return alive.size
    },
    add(task) {
      alive.set(task.request.id, task)
      const end = () => retire(task)
      // Who waits for it hears of a failure; here it is over, either way.
      task.ended.then(end, end)
    },
    list: () =>
      [...endedJobs.values(), ...ended.values(), ...alive.values()].map((task) => task.look()),
    detach(id) {
      const task = find(id)
      left.add(task)
      return task.look()
    },
    show: (id) => find(id).look(),
    read(id, cursor = 0) {
      const task = find(id)
      return { ...task.capture.read({ cursor }), status: task.look().status }
    },
    wait: (id, timeoutSeconds) =>
      waitAtMost(find(id), Math.min(timeoutSeconds, limits.jobWaitSeconds) * 1000),
    write(id, text) {
      const { running } = find(id)
      // A terminal that is gone takes everything and says nothing.
      if (!alive.has(id)) throw new MisuseError('no_input', `Job \`${id}\` has ended`, 'job_id')
      running.write(text)
    },
    endInput(id) {
      const { running } = find(id)
      if (running.endInput) return running.endInput()
      throw new MisuseError('no_input', `The input of job \`${id}\` cannot be ended`, 'job_id')
    },
    drainInput: async (id) => find(id).running.drain?.(),
    resize: (id, columns, rows) => find(id).running.resize(columns, rows),
    async kill(id, reason = 'kill') {
      const task = find(id)
      await task.stop(reason)
      return task.ended
    },
    async stopAll(reason) {
      const tasks = [...alive.values()]
      await Promise.all(tasks.map((task) => task.stop(reason)))
      await Promise.all(tasks.map((task) => task.ended))
    },
  }
}

/** Why no more job can be started now; null where one can. */
export function refuseJob(alive: number): { code: string; message: string } | null {
  if (alive < limits.jobs) return null
  const message = `${alive} jobs are alive, and no more than ${limits.jobs} may be; stop one first`
  return { code: 'too_many_jobs', message }
}
