import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  describeFailures,
  hasSucceeded,
  joinTasks,
  nameEnd,
  type TaskCounts,
  type TaskEnd,
} from '../protocol/array.ts'
import type { Request } from '../protocol/request/request.ts'
import type { Result, TaskSummary } from '../protocol/result/result.ts'
import { isObject } from '../protocol/shape/shape.ts'
import { fromWire, toWire } from '../protocol/wire.ts'
import type { ArrayRound } from '../run/slurm/array.ts'
import { nowMs, roundMs } from '../system/clock.ts'
import { makePrivateFolder, replaceFile } from '../system/private-files.ts'
import { arrayFolder, readOwnFile } from './jobs/record.ts'

/** What is known of an array beside the ends of its tasks. */
export interface ArrayRecord {
  /** As it was asked for at first. */
  request: Request
  /** The random word that begins each frame which its tasks' scripts write, if a scheduler runs them. */
  name: string
  /** What a scheduler was handed: all tasks, then those that are tried again. */
  rounds: ArrayRound[]
}

/** A task that runs, and where; null: on this machine, or on one that a scheduler does not name. */
export interface RunningTask {
  task: number
  host: string | null
}

const mostRunningNamed = 50

/**
 * The tasks of an array: how they ended, and which run. On disk it is `<jobs>/arrays/<id>`: `array.json`,
 * and `results.jsonl` with a line for the end of each task, so that they survive nacre. Beside them lies
 * what the tasks of a scheduler write.
 */
export class TaskLedger {
  readonly record: ArrayRecord
  /** Null: nothing is kept. */
  readonly folder: string | null
  readonly #tasks: readonly number[]
  readonly #ends = new Map<number, TaskEnd>()
  #failed = 0
  /** The tasks that run, from when each has been known to. */
  #running = new Map<number, RunningTask & { sinceMs: number }>()

  constructor(record: ArrayRecord, folder: string | null) {
    this.record = record
    this.folder = folder
    this.#tasks = record.request.array?.tasks ?? []
    const lines = folder === null ? '' : (readOwnFile(resultsOf(folder)) ?? '')
    for (const line of lines.split('\n')) {
      const end = readEnd(line)
      if (end) this.#count(end)
    }
  }

  /** Writes down what was handed to a scheduler. */
  addRound(round: ArrayRound): void {
    this.record.rounds.push(round)
    this.write()
  }

  write(): void {
    if (this.folder === null) return
    replaceFile(recordOf(this.folder), `${JSON.stringify(toWire(this.record))}\n`)
  }

  /** The last end of a task counts. */
  add(end: TaskEnd): void {
    if (this.folder !== null) {
      appendFileSync(resultsOf(this.folder), `${JSON.stringify(toWire(end))}\n`, { mode: 0o600 })
    }
    this.#count(end)
  }

  #count(end: TaskEnd): void {
    this.#ends.set(end.task, end)
    if (!hasSucceeded(end.result)) this.#failed++
  }

  setRunning(now: readonly RunningTask[]): void {
    this.#running = new Map(
      now.map((one) => {
        const sinceMs = this.#running.get(one.task)?.sinceMs ?? nowMs()
        return [one.task, { ...one, sinceMs }]
      }),
    )
  }

  counts(): TaskCounts {
    return { ended: this.#ends.size, failed: this.#failed, total: this.#tasks.length }
  }

  /** The last end of each task, in the order of their numbers. */
  ends(): TaskEnd[] {
    return [...this.#ends.values()].sort((one, other) => one.task - other.task)
  }

  /** The tasks that have not ended. */
  left(): number[] {
    return this.#tasks.filter((task) => !this.#ends.has(task))
  }

  summarize(): TaskSummary {
    const ends = this.ends()
    const failures = ends.filter(({ result }) => !hasSucceeded(result)).map(({ task }) => task)
    const left = this.left()
    return {
      total: this.#tasks.length,
      succeeded: ends.length - failures.length,
      failed: failures.length,
      running: this.#running.size,
      waiting: Math.max(0, left.length - this.#running.size),
      ends: countEnds(ends),
      failures,
      left: joinTasks(left),
      retries: ends.reduce((sum, { tries }) => sum + tries - 1, 0),
      slowest: findSlowest(ends),
      runningTasks: [...this.#running.values()]
        .sort((one, other) => one.sinceMs - other.sinceMs)
        .slice(0, mostRunningNamed)
        .map(({ sinceMs, ...running }) => ({
          ...running,
          durationMs: roundMs(nowMs() - sinceMs),
        })),
    }
  }
}

const recordOf = (folder: string) => join(folder, 'array.json')
const resultsOf = (folder: string) => join(folder, 'results.jsonl')

/** The ledger of an array, which may have been begun by another nacre. `dir`: the folder of the jobs. */
export function openLedger(dir: string | null, request: Request): TaskLedger {
  const found = dir === null ? null : findLedger(dir, request.id)
  if (found) return found
  const record = { request, name: randomBytes(16).toString('hex'), rounds: [] }
  if (dir === null) return new TaskLedger(record, null)
  const folder = arrayFolder(dir, request.id)
  makePrivateFolder(join(dir, 'arrays'))
  mkdirSync(folder, { mode: 0o700, recursive: true })
  const ledger = new TaskLedger(record, folder)
  ledger.write()
  return ledger
}

/** The ledger of the array of this id; null if the run is none. */
export function findLedger(dir: string, id: string): TaskLedger | null {
  const folder = arrayFolder(dir, id)
  const text = readOwnFile(recordOf(folder))
  if (text === null) return null
  try {
    return new TaskLedger(fromWire(JSON.parse(text)) as ArrayRecord, folder)
  } catch {
    return null
  }
}

/** Null if the line is cut off, as a kill may leave it. */
function readEnd(line: string): TaskEnd | null {
  try {
    const end = fromWire(JSON.parse(line))
    if (!isObject(end) || typeof end['task'] !== 'number' || !isObject(end['result'])) return null
    return end as unknown as TaskEnd
  } catch {
    return null
  }
}

function countEnds(ends: readonly TaskEnd[]): TaskSummary['ends'] {
  const tasks = new Map<string, number[]>()
  for (const { task, result } of ends) {
    const name = nameEnd(result)
    tasks.set(name, [...(tasks.get(name) ?? []), task])
  }
  return [...tasks]
    .map(([end, numbers]) => ({ end, count: numbers.length, tasks: joinTasks(numbers) }))
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

/** The result of an array whose nacre is gone, from that of any such run. */
export function describeLostArray(result: Result, tasks: TaskSummary): Result {
  const left = tasks.waiting + tasks.running
  if (left === 0) {
    return {
      ...result,
      status: 'exited',
      exitCode: tasks.failed === 0 ? 0 : 1,
      exitMeaning: describeFailures(tasks),
      reason: null,
      error: null,
      notices: [],
      tasks,
    }
  }
  const notice = `The nacre that held it is gone; ${left} of ${tasks.total} tasks have no result: --array ${tasks.left} runs them`
  return {
    ...result,
    error: result.error && { ...result.error, message: notice },
    notices: [notice],
    tasks,
  }
}
