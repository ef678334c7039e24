import { lstatSync, promises, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { idPattern } from '../../protocol/wire.ts'
import { lookIntoFile } from '../../system/look.ts'
import { replaceFile } from '../../system/private-files.ts'
import { isAlive } from '../../system/process/process-table.ts'
import { copyOutsideRun } from '../../system/process/own-process.ts'
import { coverInherited, startProcess } from '../../system/process/spawn.ts'
import { setReferenced } from '../../system/runtime.ts'
import { pathsOf, readRecord } from './record.ts'

export interface PruneLimits {
  storeBytes: number
  ageDays: number
}

/** How another process is started that prunes. */
export interface Pruner {
  /** Those of `nacre artifact prune`. */
  words: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
}

export interface Pruned {
  /** The ids of what was removed. */
  removed: string[]
  /** A sentence about what could not be removed; null if nothing is left that should go. */
  trouble: string | null
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
/** How often a store is pruned at most, whoever writes to it. */
const everyMs = 60_000
const dayMs = 24 * 3600 * 1000

/** Its time says when the store was last pruned, its text what could not be removed. */
const stampOf = (dir: string) => join(dir, '.pruned')

/** Takes the turn to prune, if it is due, from all processes. A store that `isNew` has nothing to remove. */
export function takeTurn(
  dir: string,
  isNew: boolean,
): Pick<Pruned, 'trouble'> & { isDue: boolean } {
  const stat = lstatSync(stampOf(dir), { throwIfNoEntry: false })
  const isOver = stat === undefined || Date.now() - stat.mtimeMs > everyMs
  const trouble = (stat?.isFile() && lookIntoFile(stampOf(dir))) || null
  if (isOver) noteTrouble(dir, trouble)
  return { isDue: isOver && !isNew, trouble }
}

export function noteTrouble(dir: string, trouble: string | null): void {
  try {
    replaceFile(stampOf(dir), trouble ?? '')
  } catch {
    // No room, no right to write there: the next process takes the turn as well.
  }
}

/**
 * Has another process prune the store: this one neither waits
 * nor works for it, however much there is, and may end meanwhile.
 */
export async function startPruner(
  { words, environment }: Pruner,
  dir: string,
  limits: PruneLimits,
): Promise<void> {
  const [file = '', ...args] = words
  const env = {
    ...copyOutsideRun(environment),
    NACRE_ARTIFACTS_STORE_BYTES: String(limits.storeBytes),
    NACRE_ARTIFACTS_AGE_DAYS: String(limits.ageDays),
  }
  const stdio = ['ignore', 'ignore', 'ignore'] as const
  const files = process.platform === 'linux' ? coverInherited() : []
  const given = { args: [...args, '--artifact-dir', dir], env, stdio, files }
  try {
    setReferenced([await startProcess({ file, ...given, cwd: '/', detached: true })], false)
  } catch {
    // The system has too little for one more process: the next turn comes in a minute.
  }
}

/**
 * Removes artifacts that are too old, then the oldest until the store fits, never one whose writer is
 * alive. Several processes may do this at once: what is gone already is gone.
 */
export async function pruneStore(dir: string, limits: PruneLimits): Promise<Pruned> {
  const stored = await listStored(dir)
  stored.sort((a, b) => a.changedMs - b.changedMs)
  const now = Date.now()
  let total = stored.reduce((sum, { bytes }) => sum + bytes, 0)
  const removed: string[] = []
  const failures: string[] = []
  for (const artifact of stored) {
    const isOld = now - artifact.changedMs > limits.ageDays * dayMs
    if (!isOld && total <= limits.storeBytes) break
    if (isInUse(dir, artifact, now)) continue
    try {
      await removeFiles(dir, artifact.id)
      total -= artifact.bytes
      removed.push(artifact.id)
    } catch (error) {
      failures.push(messageOf(error))
    }
  }
  const trouble = `Old artifacts cannot be removed (${failures.length}), the first: ${failures[0]}`
  return { removed, trouble: failures.length === 0 ? null : trouble }
}

function isInUse(dir: string, artifact: Stored, now: number): boolean {
  const record = readRecord(dir, artifact.id)
  if (record === null) return now - artifact.changedMs < graceMs
  return record.endedAt === null && isAlive(record.writer)
}

async function listStored(dir: string): Promise<Stored[]> {
  const stored: Stored[] = []
  await visitEach(await listIds(dir), (id) => {
    const files = Object.values(pathsOf(dir, id)).flatMap(
      (path) => statSync(path, { throwIfNoEntry: false }) ?? [],
    )
    const bytes = files.reduce((sum, { size }) => sum + size, 0)
    stored.push({ id, bytes, changedMs: Math.max(0, ...files.map(({ mtimeMs }) => mtimeMs)) })
  })
  return stored
}

/** Removes the files of an artifact; what is gone already is gone. */
export async function removeFiles(dir: string, id: string): Promise<void> {
  for (const path of Object.values(pathsOf(dir, id))) await promises.rm(path, { force: true })
}

/** Visits any number of files without keeping the event loop from the runs of this process. */
export async function visitEach<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void,
): Promise<void> {
  let visited = 0
  for (const item of items) {
    if (++visited % 256 === 0) await nextTurn()
    visit(item)
  }
}

/** The ids of the artifacts in the folder; none where there is no folder yet. */
export async function listIds(dir: string): Promise<Set<string>> {
  try {
    const names = await promises.readdir(dir)
    return new Set(names.map((name) => name.slice(0, name.indexOf('.'))).filter(isArtifactId))
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return new Set()
    throw error
  }
}

export function isArtifactId(id: string): boolean {
  return id.startsWith('art_') && idPattern.test(id)
}
