import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../protocol/limits.ts'
import { isRunning } from '../../system/process-table.ts'
import { listFiles, readRecord, readRecords, removeRecord } from './record.ts'
import { ownerOfSocket } from './socket-path.ts'

/** A file without its record, which a nacre is about to write, is at most so old. */
const draftMs = 60_000
const dayMs = 24 * 3600 * 1000

/** Removes ended jobs that are too old or too many, and what killed nacres left in the folder. */
export function pruneJobs(dir: string): void {
  const ended = readRecords(dir).filter((record) => record.endedAt !== null)
  const oldest = Date.now() - limits.jobAgeDays * dayMs
  const surplus = ended.length - limits.jobsKept
  for (const [index, record] of ended.entries()) {
    const isOld = Date.parse(record.endedAt ?? '') < oldest
    if (index < surplus || isOld) removeRecord(dir, record.id)
  }
  for (const name of listFiles(dir)) {
    if (isLeft(dir, name)) rmSync(join(dir, name), { force: true })
  }
}

function isLeft(dir: string, name: string): boolean {
  const owner = ownerOfSocket(name)
  if (owner !== null) return !isRunning(owner)
  if (name.endsWith('.log')) return isOlder(join(dir, name), limits.jobAgeDays * dayMs)
  const isPart =
    name.endsWith('.request') ||
    name.endsWith('.new') ||
    (name.endsWith('.text') && !hasRecord(dir, name))
  return isPart && isOlder(join(dir, name), draftMs)
}

function hasRecord(dir: string, textName: string): boolean {
  return readRecord(dir, textName.slice(0, -'.text'.length)) !== null
}

function isOlder(path: string, ageMs: number): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && Date.now() - stat.mtimeMs > ageMs
}
