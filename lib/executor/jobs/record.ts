import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../protocol/shape/shape.ts'
import { codeOf } from '../../protocol/errors.ts'
import { idPattern } from '../../protocol/ids.ts'
import type { JobEntry } from '../../protocol/job-entry.ts'
import type { Origin, TerminalSize } from '../../protocol/request.ts'
import type { ArtifactRef, Result } from '../../protocol/result.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'
import { isAlive, type ProcessIdentity } from '../../system/process-table.ts'

/**
 * What every nacre of this user knows of a job: `<state>/jobs/<id>.json` while it goes on,
 * `<state>/jobs/ended/<id>.json` with its text beside it afterwards. So whoever counts what is alive
 * does not read what has ended.
 */
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

/** Where the records of ended jobs are. */
export function endedFolder(dir: string): string {
  return join(dir, 'ended')
}

const aliveRecord = (dir: string, id: string) => join(dir, `${id}.json`)
const endedRecord = (dir: string, id: string) => join(endedFolder(dir), `${id}.json`)
const keptText = (dir: string, id: string) => join(endedFolder(dir), `${id}.text`)

/** Makes the folder of the jobs, for this user only. */
export function ensureJobsFolder(dir: string): void {
  makePrivateFolder(dir)
}

/** Writes the record of a job that goes on; a reader sees the old or the new one, never half of it. */
export function writeRecord(dir: string, record: JobRecord): void {
  replaceFile(aliveRecord(dir, record.id), encode(record))
}

/** Writes the end of a job, with the end of its clean text where that is known. */
export function writeEnd(dir: string, record: JobRecord, text: string | null): void {
  makePrivateFolder(dir)
  makePrivateFolder(endedFolder(dir))
  if (text !== null) replaceFile(keptText(dir, record.id), text)
  replaceFile(endedRecord(dir, record.id), encode(record))
  rmSync(aliveRecord(dir, record.id), { force: true })
}

function encode(record: JobRecord): string {
  return `${JSON.stringify(toWire(record))}\n`
}

export function readKeptText(dir: string, id: string): string | null {
  return readOwnFile(keptText(dir, id))
}

/** Null where there is none, or none that makes sense. */
export function readRecord(dir: string, id: string): JobRecord | null {
  return (
    decode(readOwnFile(aliveRecord(dir, id)), id) ?? decode(readOwnFile(endedRecord(dir, id)), id)
  )
}

/** Something else than nacre may have written or damaged the file: that costs this record, not the others. */
function decode(text: string | null, id: string): JobRecord | null {
  if (text === null) return null
  try {
    const record: unknown = fromWire(JSON.parse(text))
    return isRecord(record) && record.id === id ? record : null
  } catch {
    return null
  }
}

function isRecord(value: unknown): value is JobRecord {
  if (!isObject(value)) return false
  const { command, cwd, startedAt, endedAt, owner, socket, process, result, textStart } = value
  return (
    [command, cwd, startedAt].every((item) => typeof item === 'string') &&
    [endedAt, socket].every((item) => item === null || typeof item === 'string') &&
    isIdentity(owner) &&
    (process === null || isIdentity(process)) &&
    (endedAt === null
      ? result === null
      : isObject(result) && typeof result['status'] === 'string') &&
    typeof textStart === 'number' &&
    !Number.isNaN(Date.parse(startedAt as string))
  )
}

function isIdentity(value: unknown): boolean {
  return (
    isObject(value) && typeof value['pid'] === 'number' && typeof value['startTime'] === 'string'
  )
}

/** A file of the user's own; a link, a folder or a pipe of that name is none. */
function readOwnFile(path: string): string | null {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      return fstatSync(fd).isFile() ? readFileSync(fd, 'utf8') : null
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    // Another nacre may have removed it meanwhile; ELOOP is a link that no nacre made.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ELOOP') return null
    throw error
  }
}

/** The ids of the jobs that go on, as their records say, or of those that have ended. */
export function listIds(dir: string, which: 'alive' | 'ended'): string[] {
  return listFiles(which === 'alive' ? dir : endedFolder(dir))
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((id) => idPattern.test(id))
}

/** Every record of one kind that can be read. */
export function readRecords(dir: string, which: 'alive' | 'ended'): JobRecord[] {
  const read = which === 'alive' ? aliveRecord : endedRecord
  return listIds(dir, which).flatMap((id) => decode(readOwnFile(read(dir, id)), id) ?? [])
}

export function removeRecord(dir: string, id: string): void {
  for (const path of [aliveRecord(dir, id), endedRecord(dir, id), keptText(dir, id)]) {
    rmSync(path, { force: true })
  }
}

/** The names in a folder; none where there is no folder yet. */
export function listFiles(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/** A record as a line of the list. */
export function describeRecord(record: JobRecord): JobEntry {
  const { result } = record
  return {
    id: record.id,
    jobId: record.id,
    status: result?.status ?? 'running',
    exitCode: result?.exitCode ?? null,
    signal: result?.signal ?? null,
    reason: result?.reason ?? null,
    command: record.command,
    cwd: record.cwd,
    durationMs: result?.durationMs ?? Math.max(0, Date.now() - Date.parse(record.startedAt)),
    error: result?.error ?? null,
    origin: record.origin,
    pid: record.process?.pid ?? null,
    ownerPid: record.owner.pid,
    ownerAlive: isAlive(record.owner),
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    artifact: record.artifact,
  }
}
