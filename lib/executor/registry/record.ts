import { closeSync, constants, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../protocol/errors.ts'
import { idPattern } from '../../protocol/ids.ts'
import type { Origin, TerminalSize } from '../../protocol/request.ts'
import type { ArtifactRef, Result } from '../../protocol/result.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'
import type { ProcessIdentity } from '../../system/process-table.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'

/** What every nacre of this user knows of a job: `<state>/jobs/<id>.json`. */
export interface JobRecord {
  /** Of the run, and of the job. */
  id: string
  command: string
  cwd: string
  origin: Origin
  pty: TerminalSize | null
  /** The first process of the run. */
  process: ProcessIdentity | null
  /** The nacre that holds it. */
  owner: ProcessIdentity
  /** Where the owner answers while it lives; null where it could not listen. */
  socket: string | null
  /** ISO 8601, UTC. */
  startedAt: string
  endedAt: string | null
  artifact: ArtifactRef | null
  stderrArtifact: ArtifactRef | null
  /** The final result. */
  result: Result | null
  /** How many bytes of clean text come before the text that is kept beside an ended job. */
  textStart: number
}

/** The files of one job. */
export function pathsOf(dir: string, id: string) {
  return { record: join(dir, `${id}.json`), text: join(dir, `${id}.text`) }
}

/** The folder of the jobs, for this user only. */
export function ensureJobsFolder(dir: string): void {
  makePrivateFolder(dir)
}

/** Writes a record so that a reader sees the old or the new one, never half of it. */
export function writeRecord(dir: string, record: JobRecord): void {
  replaceFile(pathsOf(dir, record.id).record, `${JSON.stringify(toWire(record))}\n`)
}

/** The clean text that an ended job leaves, its last MiB. */
export function writeText(dir: string, id: string, text: string): void {
  replaceFile(pathsOf(dir, id).text, text)
}

export function readKeptText(dir: string, id: string): string | null {
  return readOwnFile(pathsOf(dir, id).text)
}

/** Null where there is none, or none that makes sense. */
export function readRecord(dir: string, id: string): JobRecord | null {
  const text = readOwnFile(pathsOf(dir, id).record)
  if (text === null) return null
  try {
    const record = fromWire(JSON.parse(text)) as JobRecord
    return record.id === id && typeof record.owner.pid === 'number' ? record : null
  } catch {
    // Written by something else than nacre.
    return null
  }
}

function readOwnFile(path: string): string | null {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      return readFileSync(fd, 'utf8')
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    // Removed by another nacre meanwhile, or a link that no nacre made.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ELOOP') return null
    throw error
  }
}

/** The ids of all jobs that have a record. */
export function listRecordIds(dir: string): string[] {
  return listFiles(dir)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((id) => idPattern.test(id))
}

/** All records, in the order in which the jobs were started. */
export function readRecords(dir: string): JobRecord[] {
  return listRecordIds(dir)
    .flatMap((id) => readRecord(dir, id) ?? [])
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt))
}

export function removeRecord(dir: string, id: string): void {
  for (const path of Object.values(pathsOf(dir, id))) rmSync(path, { force: true })
}

/** The names in the folder of the jobs; none where there is no folder yet. */
export function listFiles(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
