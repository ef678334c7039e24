import { nowMs, roundMs } from '../../system/clock.ts'
import {
  joinTasks,
  hasSucceeded,
  nameEnd,
  type TaskCounts,
  type TaskEnd,
} from '../../protocol/array.ts'
import type { TaskSummary } from '../../protocol/result/result.ts'

/** Counts the tasks of an array. */
export interface Tally {
  /** Says which tasks run now. */
  setRunning(tasks: readonly RunningTask[]): void
  /** The last end of a task counts. */
  add(end: TaskEnd): void
  has(task: number): boolean
  count(): TaskCounts
  summarize(): TaskSummary
}

/** A task that runs, and where; null: on this machine, or on a scheduler's. */
export interface RunningTask {
  task: number
  host: string | null
}

const mostRunningNamed = 50

export function createTally(tasks: readonly number[]): Tally {
  const ends = new Map<number, TaskEnd>()
  let failed = 0
  /** The tasks that run, from when each has been known to. */
  let running = new Map<number, RunningTask & { sinceMs: number }>()

  return {
    setRunning(now) {
      running = new Map(
        now.map((one) => [
          one.task,
          { ...one, sinceMs: running.get(one.task)?.sinceMs ?? nowMs() },
        ]),
      )
    },
    add(end) {
      ends.set(end.task, end)
      if (!hasSucceeded(end.result)) failed++
    },
    has: (task) => ends.has(task),
    count: () => ({ ended: ends.size, failed, total: tasks.length }),
    summarize() {
      const all = [...ends.values()]
      const failures = all
        .filter(({ result }) => !hasSucceeded(result))
        .map(({ task }) => task)
        .sort((one, other) => one - other)
      return {
        total: tasks.length,
        succeeded: ends.size - failures.length,
        failed: failures.length,
        running: running.size,
        waiting: Math.max(0, tasks.length - ends.size - running.size),
        ends: countEnds(all),
        failures,
        left: joinTasks(tasks.filter((task) => !ends.has(task))),
        retries: all.reduce((sum, { tries }) => sum + tries - 1, 0),
        slowest: findSlowest(all),
        runningTasks: [...running.values()]
          .sort((one, other) => one.sinceMs - other.sinceMs)
          .slice(0, mostRunningNamed)
          .map(({ task, host, sinceMs }) => ({
            task,
            host,
            durationMs: roundMs(nowMs() - sinceMs),
          })),
      }
    },
  }
}

function countEnds(ends: readonly TaskEnd[]): TaskSummary['ends'] {
  const tasks = new Map<string, number[]>()
  for (const { task, result } of ends) {
    const name = nameEnd(result)
    tasks.set(name, [...(tasks.get(name) ?? []), task])
  }
  return [...tasks]
    .map(([end, numbers]) => ({
      end,
      count: numbers.length,
      tasks: joinTasks(numbers.sort((one, other) => one - other)),
    }))
    .sort((one, other) => other.count - one.count || one.end.localeCompare(other.end))
}

function findSlowest(ends: readonly TaskEnd[]): TaskSummary['slowest'] {
  let slowest: TaskSummary['slowest'] = null
  for (const { task, result } of ends) {
    const { durationMs } = result
    if (slowest === null || durationMs > slowest.durationMs) slowest = { task, durationMs }
  }
  return slowest
}
