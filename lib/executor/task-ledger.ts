import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  hasSucceeded,
  joinTasks,
  nameEnd,
  type TaskCounts,
  type TaskEnd,
} from '../protocol/array.ts'
import type { TaskSummary } from '../protocol/result/result.ts'
import { messageOf } from '../protocol/errors.ts'
import { isObject } from '../protocol/shape/shape.ts'
import { fromWire, toWire } from '../protocol/wire.ts'
import type { ArrayRound } from '../run/slurm/array.ts'
import { nowMs, roundMs } from '../system/clock.ts'
import { makePrivateFolder } from '../system/private-files.ts'
import { arrayFolder, readOwnFile } from './jobs/record.ts'

/** What an array begins with, whoever goes on with it. */
interface ArrayHead {
  tasks: readonly number[]
  /** Where the tasks of a scheduler begin. */
  cwd: string
  /** The random word that begins each frame which their scripts write. */
  name: string
}

/** A task that runs, and where; null: on this machine, or on one that a scheduler does not name. */
export interface RunningTask {
  task: number
  host: string | null
}

const mostRunningNamed = 50

/**
 * The tasks of an array: how they ended, and which run. On disk it is a line for each thing that is known of them,
 * in `<jobs>/arrays/<id>/tasks.jsonl`, so that this survives nacre: how the array began, what a scheduler was
 * handed, and each end. Beside it lies what the tasks of a scheduler write.
 */
export class TaskLedger {
  readonly head: ArrayHead
  /** What a scheduler was handed: all tasks, then those that are tried again. */
  readonly rounds: ArrayRound[] = []
  /** Null: nothing is kept. */
  readonly folder: string | null
  readonly #ends = new Map<number, TaskEnd>()
  #failed = 0
  readonly #unwritten: number[] = []
  #why = ''
  /** The tasks that run, from when each has been known to. */
  #running = new Map<number, RunningTask & { sinceMs: number }>()

  /** `entries`: what was written down after the beginning. */
  constructor(head: ArrayHead, folder: string | null, entries: readonly unknown[]) {
    this.head = head
    this.folder = folder
    for (const entry of entries) {
      if (!isObject(entry)) continue
      if ('jobId' in entry) this.rounds.push(entry as unknown as ArrayRound)
      else if ('result' in entry) this.#count(entry as unknown as TaskEnd)
    }
  }

  /** Writes down what was handed to a scheduler. */
  addRound(round: ArrayRound): void {
    this.rounds.push(round)
    this.write(round)
  }

  /** The last end of a task counts. */
  add(end: TaskEnd): void {
    this.#count(end)
    this.write(end)
  }

  /** What cannot be written down, as on a full disk, holds for this process alone. */
  write(entry: ArrayHead | ArrayRound | TaskEnd): void {
    if (this.folder === null) return
    try {
      appendFileSync(fileOf(this.folder), `${JSON.stringify(toWire(entry))}\n`, { mode: 0o600 })
    } catch (error) {
      if ('result' in entry) this.#unwritten.push(entry.task)
      this.#why = messageOf(error)
    }
  }

  /** What a nacre that goes on with the array would not know. */
  tellUnwritten(): string[] {
    if (this.#why === '') return []
    const tasks = joinTasks(this.#unwritten.sort((one, other) => one - other))
    return [`Not kept on disk: the ends of the tasks ${tasks || '(none)'}: ${this.#why}`]
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
    return { ended: this.#ends.size, failed: this.#failed, total: this.head.tasks.length }
  }

  /** The last end of each task, in the order of their numbers. */
  ends(): TaskEnd[] {
    return [...this.#ends.values()].sort((one, other) => one.task - other.task)
  }

  /** The tasks that have not ended. */
  left(): number[] {
    return this.head.tasks.filter((task) => !this.#ends.has(task))
  }

  summarize(): TaskSummary {
    const ends = this.ends()
    const failures = ends.filter(({ result }) => !hasSucceeded(result)).map(({ task }) => task)
    const left = this.left()
    return {
      total: this.head.tasks.length,
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

const fileOf = (folder: string) => join(folder, 'tasks.jsonl')

/** The ledger of an array, which may have been begun by another nacre. `dir`: the folder of the jobs. */
export function openLedger(
  dir: string | null,
  id: string,
  beginning: Omit<ArrayHead, 'name'>,
): TaskLedger {
  const found = dir === null ? null : findLedger(dir, id)
  if (found) return found
  const head = { ...beginning, name: randomBytes(16).toString('hex') }
  const folder = dir === null ? null : arrayFolder(dir, id)
  if (dir !== null && folder !== null) {
    makePrivateFolder(join(dir, 'arrays'))
    mkdirSync(folder, { mode: 0o700, recursive: true })
  }
  const ledger = new TaskLedger(head, folder, [])
  ledger.write(head)
  return ledger
}

/** The ledger of the array of this id; null if the run is none. */
export function findLedger(dir: string, id: string): TaskLedger | null {
  const folder = arrayFolder(dir, id)
  const lines = readOwnFile(fileOf(folder))?.split('\n') ?? []
  const [head, ...entries] = lines.map(readLine)
  if (!isObject(head) || !Array.isArray(head['tasks'])) return null
  return new TaskLedger(head as unknown as ArrayHead, folder, entries)
}

/** Null if the line is cut off, as a kill may leave it. */
function readLine(line: string): unknown {
  try {
    return fromWire(JSON.parse(line))
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
