import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../protocol/limits.ts'
import { isRunning } from '../../system/process/process-table.ts'
import { ownerOfSocket } from '../../system/socket-place.ts'
import { endedFolder, listFiles, listIds, removeRecord } from './record.ts'

/**
 * A nacre writes the texts of a job shortly before its record: a text without a record that is older than
 * this was left behind.
 */
const draftMs = 60_000
const dayMs = 24 * 3600 * 1000

/**
 * Removes ended jobs that are too old or too many, and what killed nacres left in the folder. A record
 * is as old as its file, which was written when the job ended: no record is read for this.
 */
export function pruneJobs(dir: string): void {
  const ended = listIds(dir, 'ended')
    .map((id) => ({ id, ageMs: ageOf(join(endedFolder(dir), `${id}.json`)) }))
    .sort((a, b) => a.ageMs - b.ageMs)
  for (const [index, { id, ageMs }] of ended.entries()) {
    if (index >= limits.jobsKept || ageMs > limits.jobAgeDays * dayMs) removeRecord(dir, id)
  }
  for (const name of listFiles(dir)) {
    if (isLeft(dir, name)) rmSync(join(dir, name), { force: true })
  }
  const kept = new Set(listIds(dir, 'ended'))
  for (const name of listFiles(endedFolder(dir))) {
    const path = join(endedFolder(dir), name)
    if (!kept.has(name.split('.')[0] ?? '') && ageOf(path) > draftMs) rmSync(path, { force: true })
  }
}

function isLeft(dir: string, name: string): boolean {
  const owner = ownerOfSocket(name)
  if (owner !== null) return !isRunning(owner)
  return name.endsWith('.new') && ageOf(join(dir, name)) > draftMs
}

/** How long ago a file was written; one that is gone is new. */
function ageOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? 0 : Date.now() - stat.mtimeMs
}
