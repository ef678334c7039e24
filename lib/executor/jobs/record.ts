import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { KeptText, KeptTexts } from '../../output/bounds.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { codeOf } from '../../protocol/errors.ts'
import { idPattern, fromWire, toWire } from '../../protocol/wire.ts'
import type { JobEntry } from '../../protocol/result/reading.ts'
import type { LiveRun } from '../run.ts'
import type { Bounds, KeptPlace } from '../../protocol/ports.ts'
import type { Origin, Request, TerminalSize } from '../../protocol/request/request.ts'
import { type ArtifactRef, type Result, statuses } from '../../protocol/result/result.ts'
import { limits } from '../../protocol/limits.ts'
import { makePrivateFolder, readRegularFile, replaceFile } from '../../system/private-files.ts'
import {
  identifyProcess,
  identifySelf,
  isAlive,
  isRunning,
  type ProcessIdentity,
} from '../../system/process/process-table.ts'
import { ownerOfSocket } from '../../system/temporary-folder.ts'

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
  /** The conversation or connection of a model that it belongs to; else a person. */
  belongsTo?: string | null
  bounds?: Bounds | null
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
  /** By which it is taken up again on another machine; null where it ends with its owner. */
  kept: { request: Request; place: KeptPlace } | null
}

/** The folder of the records of ended jobs. */
function endedFolder(dir: string): string {
  return join(dir, 'ended')
}

const aliveRecord = (dir: string, id: string) => join(dir, `${id}.json`)
const endedRecord = (dir: string, id: string) => join(endedFolder(dir), `${id}.json`)
/** Where the ends of the tasks are, if the job is an array. */
export const arrayFolder = (dir: string, id: string) => join(dir, 'arrays', id)
const keptText = (dir: string, id: string) => join(endedFolder(dir), `${id}.text`)

/** Writes the record of a job that goes on; a reader sees the old or the new one, never half of it. */
export function writeRecord(dir: string, record: JobRecord): void {
  replaceFile(aliveRecord(dir, record.id), encode(record))
}

/** Writes the end of a job, with its clean text. Gives what it wrote. */
export function writeEnd(dir: string, ending: JobRecord, texts: KeptTexts): JobRecord {
  makePrivateFolder(dir)
  makePrivateFolder(endedFolder(dir))
  // What takes it up again holds its environment and its input.
  const record: JobRecord = { ...ending, kept: null }
  replaceFile(endedRecord(dir, record.id), encode(record))
  replaceFile(keptText(dir, record.id), encodeTexts(texts))
  rmSync(aliveRecord(dir, record.id), { force: true })
  return record
}

function encodeTexts(texts: KeptTexts): string {
  const streams = Object.entries(texts) as [string, KeptText][]
  const encoded = streams.map(([name, { text, start }]) => [name, { text: text.toString(), start }])
  return JSON.stringify(Object.fromEntries(encoded))
}

function encode(record: JobRecord): string {
  return `${JSON.stringify(toWire(record))}\n`
}

/** The texts beside an ended job; null where there are none. */
export function readKeptTexts(dir: string, id: string): KeptTexts | null {
  const text = readOwnFile(keptText(dir, id))
  if (text === null) return null
  return JSON.parse(text, (name, value: unknown) =>
    name === 'text' ? Buffer.from(String(value)) : value,
  ) as KeptTexts
}

/** Null where there is none, or none that makes sense. */
export function readRecord(dir: string, id: string): JobRecord | null {
  return (
    decode(readOwnFile(aliveRecord(dir, id)), id) ?? decode(readOwnFile(endedRecord(dir, id)), id)
  )
}

/** The file that has the name of a job's record, whatever is in it; null where there is none. */
export function findRecordFile(dir: string, id: string): string | null {
  return [aliveRecord(dir, id), endedRecord(dir, id)].find((path) => existsSync(path)) ?? null
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
  const { command, cwd, startedAt, endedAt, owner, socket, process, result, bounds = null } = value
  return (
    [command, cwd, startedAt].every((item) => typeof item === 'string') &&
    [endedAt, socket].every((item) => item === null || typeof item === 'string') &&
    isIdentity(owner) &&
    (bounds === null || (isObject(bounds) && Array.isArray(bounds['writable'] ?? []))) &&
    (process === null || isIdentity(process)) &&
    (endedAt === null ? result === null : isResult(result)) &&
    !Number.isNaN(Date.parse(startedAt as string))
  )
}

/** Checks the fields of a result that every reader of a record relies on. */
function isResult(value: unknown): boolean {
  return (
    isObject(value) &&
    (statuses as readonly unknown[]).includes(value['status']) &&
    typeof value['durationMs'] === 'number' &&
    Array.isArray(value['notices']) &&
    Array.isArray(value['survivors'])
  )
}

function isIdentity(value: unknown): boolean {
  return (
    isObject(value) && typeof value['pid'] === 'number' && typeof value['startTime'] === 'string'
  )
}

/** A file of the user's own; a link, a folder or a pipe of that name is none. */
export function readOwnFile(path: string): string | null {
  try {
    return readRegularFile(path)?.toString() ?? null
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

/** The files of records that are there and make no sense. */
export function listDamaged(dir: string): string[] {
  return [...listIds(dir, 'alive'), ...listIds(dir, 'ended')]
    .filter((id) => readRecord(dir, id) === null)
    .flatMap((id) => findRecordFile(dir, id) ?? [])
}

export function removeRecord(dir: string, id: string): void {
  rmSync(arrayFolder(dir, id), { recursive: true, force: true })
  for (const path of [aliveRecord(dir, id), keptText(dir, id), endedRecord(dir, id)]) {
    rmSync(path, { force: true })
  }
}

/**
 * The names in a folder; none where there is no folder yet, or none can be: nothing is noted in a state
 * folder that is no folder, or that this user may not enter.
 */
function listFiles(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(codeOf(error) ?? '')) return []
    throw error
  }
}

/** What a nacre that holds a run knows of it; where it answers is yet to be said. */
export function recordOf(run: LiveRun): JobRecord {
  const { id, command, cwd, origin, belongsTo, pty } = run.request
  const { pid, startedAt, endedAt } = run
  const { bounds = null, kept: place = null } = run.running ?? {}
  const now = run.look()
  return {
    ...{ id, command, cwd, origin, belongsTo, bounds, pty },
    process: pid === null ? null : (identifyProcess(pid) ?? { pid, startTime: '', boot: '' }),
    owner: identifySelf(),
    socket: null,
    ...{ startedAt, endedAt },
    artifact: now.artifact,
    stderrArtifact: now.stderrArtifact ?? null,
    result: endedAt === null ? null : now,
    kept: place && { request: run.request, place },
  }
}

/** A record as a line of the list. */
export function describeRecord(record: JobRecord): JobEntry {
  const { id, command, cwd, origin, owner, startedAt, endedAt, result } = record
  const { status = 'running', exitCode = null, signal = null, reason = null } = result ?? {}
  return {
    ...{ id, jobId: id, status, exitCode, signal, reason, command, cwd },
    durationMs: result?.durationMs ?? Math.max(0, Date.now() - Date.parse(startedAt)),
    error: result?.error ?? null,
    artifact: result?.artifact ?? record.artifact,
    origin,
    pid: record.process?.pid ?? null,
    pty: record.pty !== null,
    ...{ ownerPid: owner.pid, ownerAlive: isAlive(owner) },
    ...{ startedAt, endedAt },
  }
}

/** A file that is older than this and not yet in its place was left behind. */
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
  for (const folder of [dir, endedFolder(dir)]) {
    const left = listFiles(folder).filter((name) => isLeft(folder, name))
    for (const name of left) rmSync(join(folder, name), { force: true })
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
