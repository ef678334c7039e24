import type { StopOptions, StopReport } from '../../protocol/ports.ts'
import type { Result, StopReason } from '../../protocol/result/result.ts'
import { hasSucceeded, type TaskEnd } from '../../protocol/array.ts'
import type { LiveRun } from '../run.ts'
import type { RunningTask } from './tally.ts'

/** Tasks that run a few at a time, where no scheduler does that. */
export interface Queue {
  /** Settles when every task has ended, or when no further one will begin. Gives notices. */
  readonly done: Promise<string[]>
  stop(reason: StopReason, options?: StopOptions): Promise<StopReport>
}

export interface QueueParts {
  tasks: readonly number[]
  /** Where a task may run: a host, or null for this machine, as often as it may run there at once. */
  places: readonly (string | null)[]
  /** How often a task that fails is tried again. */
  retries: number
  start(task: number, place: string | null): Promise<LiveRun>
  onRunning(tasks: readonly RunningTask[]): void
  /** Is told of the end of each task, after its last try. */
  onEnd(end: TaskEnd): Promise<void>
}

export function startQueue(parts: QueueParts): Queue {
  const waiting = parts.tasks.map((task) => ({ task, tries: 0 }))
  const running = new Map<LiveRun, RunningTask>()
  /** Hosts that refused a connection; they are left out while other hosts answer. */
  const closedPlaces = new Map<string, string>()
  let stopping: { reason: StopReason; options?: StopOptions } | null = null
  const reports: Promise<Result>[] = []

  const othersThan = (place: string | null) =>
    parts.places.some((other) => other !== place && !closedPlaces.has(other ?? ''))

  function tellRunning(): void {
    parts.onRunning([...running.values()])
  }

  async function runTask(task: number, place: string | null): Promise<Result> {
    const run = await parts.start(task, place)
    running.set(run, { task, host: place })
    tellRunning()
    if (stopping) reports.push(run.stop(stopping.reason, stopping.options))
    const result = await run.ended
    running.delete(run)
    tellRunning()
    return result
  }

  /** Runs tasks one after another at one place, until none is left. */
  async function work(place: string | null): Promise<void> {
    for (;;) {
      if (stopping || closedPlaces.has(place ?? '')) return
      const next = waiting.shift()
      if (next === undefined) return
      const result = await runTask(next.task, place)
      const tries = next.tries + 1
      if (result.error?.code === 'host_unreachable' && othersThan(place)) {
        closedPlaces.set(place ?? '', result.error.message)
        waiting.unshift(next)
        continue
      }
      if (!hasSucceeded(result) && tries <= parts.retries && !stopping) {
        waiting.push({ task: next.task, tries })
        continue
      }
      await parts.onEnd({ task: next.task, tries, result })
    }
  }

  async function workAll(): Promise<string[]> {
    // A task that is tried again may come when others have found nothing left to do.
    while (waiting.length > 0 && !stopping) await Promise.all(parts.places.map(work))
    return [...closedPlaces.values()].map((why) => `${why}; its tasks ran elsewhere`)
  }

  const done = workAll()
  return {
    done,
    async stop(reason, options) {
      stopping ??= { reason, ...(options && { options }) }
      for (const run of running.keys()) reports.push(run.stop(reason, options))
      await done
      const results = await Promise.all(reports)
      return { survivors: results.flatMap(({ survivors }) => survivors) }
    },
  }
}
