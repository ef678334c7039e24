import { promises } from 'node:fs'
import { basename, join } from 'node:path'
import { codeOf } from '../../protocol/errors.ts'
import { idPattern } from '../../protocol/ids.ts'
import { isAlive } from '../../system/process/process-table.ts'
import { pathsOf, readRecord } from './record.ts'

export interface PruneLimits {
  storeBytes: number
  ageMs: number
}

interface Stored {
  id: string
  /** How many bytes all its files have. */
  bytes: number
  /** Milliseconds since the epoch of the last change. */
  changedMs: number
}

/** A file that is younger is left alone whatever its record says: its writer may be just starting. */
const graceMs = 60_000

/**
 * Removes artifacts that are too old, then the oldest until the store fits, never one whose writer is
 * alive. Several processes may do this at once: what is gone already is gone.
 */
export async function pruneStore(dir: string, limits: PruneLimits): Promise<{ removed: string[] }> {
  const stored = await listStored(dir)
  stored.sort((a, b) => a.changedMs - b.changedMs)
  const now = Date.now()
  let total = stored.reduce((sum, { bytes }) => sum + bytes, 0)
  const removed: string[] = []
  for (const artifact of stored) {
    const isOld = now - artifact.changedMs > limits.ageMs
    if (!isOld && total <= limits.storeBytes) continue
    if (await isInUse(dir, artifact, now)) continue
    await removeFiles(dir, artifact.id)
    total -= artifact.bytes
    removed.push(artifact.id)
  }
  return { removed }
}

/** Every file of one artifact. */
export async function removeFiles(dir: string, id: string): Promise<void> {
  for (const name of await namesIn(dir)) {
    if (idOf(name) === id) await promises.rm(join(dir, name), { force: true })
  }
}

async function isInUse(dir: string, artifact: Stored, now: number): Promise<boolean> {
  const record = readRecord(dir, artifact.id)
  if (record === null) return now - artifact.changedMs < graceMs
  return record.endedAt === null && isAlive(record.writer)
}

async function listStored(dir: string): Promise<Stored[]> {
  const byId = new Map<string, Stored>()
  for (const name of await namesIn(dir)) {
    const id = idOf(name)
    if (id === null) continue
    const info = await promises.stat(join(dir, name)).catch(() => null)
    if (info === null) continue
    const stored = byId.get(id) ?? { id, bytes: 0, changedMs: 0 }
    stored.bytes += info.size
    // Its index is as young as its first reader.
    if (name !== basename(pathsOf(dir, id).index)) {
      stored.changedMs = Math.max(stored.changedMs, info.mtimeMs)
    }
    byId.set(id, stored)
  }
  return [...byId.values()]
}

/** The names in the folder; none where there is no folder yet. */
export async function namesIn(dir: string): Promise<string[]> {
  try {
    return await promises.readdir(dir)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** The id that a file name belongs to; null for a file that is not ours. */
export function idOf(name: string): string | null {
  const id = name.slice(0, name.indexOf('.'))
  return id.startsWith('art_') && idPattern.test(id) ? id : null
}
