import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Request } from '../../protocol/request/request.ts'
import type { SchedulerPlace } from '../../run/host/clients.ts'
import type { TaskEnd } from '../../protocol/array.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'
import { arrayFolder, readOwnFile } from '../jobs/record.ts'

/** What is known of an array beside the ends of its tasks. */
export interface ArrayRecord {
  request: Request
  /** The random word that begins each frame which its tasks' scripts write, where a scheduler runs them. */
  name: string
  /** The scheduler that runs its tasks; null where nacre itself does. */
  place: SchedulerPlace | null
  /** The first round has all tasks, each further one the tasks that are tried again. */
  rounds: ArrayRound[]
}

/** What a scheduler was handed at once. */
export interface ArrayRound {
  jobId: string
  tasks: readonly number[]
}

/**
 * An array on disk, in `<jobs>/arrays/<id>`: `array.json`, and `results.jsonl` with a line for the end of
 * each task, so that they survive nacre. Beside them lies what the tasks of a scheduler write.
 */
export interface ArrayStore {
  readonly folder: string
  write(record: ArrayRecord): void
  append(end: TaskEnd): void
  /** The last end of each task, in the order of their numbers. */
  readEnds(): TaskEnd[]
}

/** `dir` is the folder of the jobs. */
export function createArrayStore(dir: string, id: string): ArrayStore {
  makePrivateFolder(join(dir, 'arrays'))
  mkdirSync(arrayFolder(dir, id), { mode: 0o700, recursive: true })
  return openStore(arrayFolder(dir, id))
}

function openStore(folder: string): ArrayStore {
  const results = join(folder, 'results.jsonl')
  return {
    folder,
    write: (record) =>
      replaceFile(join(folder, 'array.json'), `${JSON.stringify(toWire(record))}\n`),
    append: (end) => appendFileSync(results, `${JSON.stringify(toWire(end))}\n`, { mode: 0o600 }),
    readEnds() {
      const ends = new Map<number, TaskEnd>()
      for (const line of (readOwnFile(results) ?? '').split('\n')) {
        const end = readEnd(line)
        if (end) ends.set(end.task, end)
      }
      return [...ends.values()].sort((one, other) => one.task - other.task)
    },
  }
}

/** Null where the line is cut off, as a kill may leave it. */
function readEnd(line: string): TaskEnd | null {
  try {
    const end = fromWire(JSON.parse(line))
    if (!isObject(end) || typeof end['task'] !== 'number' || !isObject(end['result'])) return null
    return end as unknown as TaskEnd
  } catch {
    return null
  }
}

/** The array of this id; null where the run is none. */
export function findArray(dir: string, id: string): (ArrayStore & { record: ArrayRecord }) | null {
  const folder = arrayFolder(dir, id)
  const text = readOwnFile(join(folder, 'array.json'))
  if (text === null) return null
  try {
    const record = fromWire(JSON.parse(text)) as ArrayRecord
    return { ...openStore(folder), record }
  } catch {
    return null
  }
}
