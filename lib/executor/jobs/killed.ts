import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import { idPattern } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import type { KeptPlace } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Survivor } from '../../protocol/result/result.ts'
import { stopTree, type TreeRoot } from '../../run/stop.ts'
import {
  type ControlGroup,
  listGroupsOf,
  removeLeftGroups,
} from '../../system/process/control-group.ts'
import {
  findOwnGroup,
  markVariable,
  ownerVariable,
  sessionVariable,
} from '../../system/process/own-process.ts'
import { findKilled, forget, presenceFolder, readGroupOf } from '../../system/process/presence.ts'
import {
  listRunPipes,
  readVariable,
  identifySelf,
  isAlive,
  listProcesses,
  type ProcessEntry,
  type ProcessIdentity,
} from '../../system/process/process-table.ts'
import { removeLeftFolders } from '../../system/temporary-folder.ts'
import { waitUntil } from '../../system/clock.ts'
import { findLedger } from '../task-ledger.ts'
import type { LiveRun, Run } from '../run.ts'
import { type JobRecord, readOwnFile, readRecord, readRecords, reopenRecord } from './record.ts'

/** Ends the runs of every killed nacre, but for jobs, which have records. `dir` is the folder of the jobs. */
export async function reapKilled(dir: string): Promise<void> {
  const stateDir = dirname(dir)
  for (const owner of findKilled(presenceFolder(stateDir))) await reap(owner, stateDir)
  removeLeftFolders(stateDir)
}

/**
 * Ends what the killed nacre of this name (`<pid>:<start time>`) has started, but for jobs. Gives what could not
 * be ended.
 */
export async function reap(owner: string, stateDir: string): Promise<Survivor[]> {
  const presences = presenceFolder(stateDir)
  const groupParent = readGroupOf(presences, owner) ?? findOwnGroup()
  const dir = join(stateDir, 'jobs')
  const survivors = await Promise.all([...findRuns(owner, dir)].map((run) => endRun(...run)))
  // A control group belongs to one run, so it also finds a process that has dropped its mark.
  const ofJobs = new Set(readRecords(dir, 'alive').map(({ group }) => group))
  for (const group of listGroupsOf(owner, groupParent)) {
    if (!ofJobs.has(group.path)) await endGroup(group)
  }
  removeLeftFolders(stateDir)
  removeLeftGroups(groupParent)
  forget(presences, owner)
  return survivors.flat()
}

/** The processes of its runs that have no record, by the ids of these. On Linux; elsewhere none can be seen. */
function findRuns(owner: string, dir: string): Map<string, ProcessEntry[]> {
  const found = new Map<string, ProcessEntry[]>()
  for (const entry of listProcesses()) {
    if (entry.zombie) continue
    const id = readVariable(entry.pid, markVariable)
    if (id === null || !idPattern.test(id)) continue
    if (!readVariable(entry.pid, ownerVariable)?.startsWith(`${owner}:`)) continue
    if (readRecord(dir, id) === null) found.set(id, [...(found.get(id) ?? []), entry])
  }
  return found
}

async function endRun(id: string, processes: readonly ProcessEntry[]): Promise<Survivor[]> {
  // A process that leads a session and carries the mark is the first one of the run.
  const leader = processes.find((entry) => entry.pid === entry.session)
  const { survivors } = await stopTree(leader ? rootFrom(leader.pid, id) : { pid: null, mark: id })
  return survivors
}

/** How the processes of a run are found by its first one, which is alive. */
export function rootFrom(pid: number, mark: string): TreeRoot {
  const pipes = listRunPipes(pid)
  return { pid, mark, pipes: () => pipes }
}

/** Whether a person's own shell has started it: the end of its terminal hangs it up, and what outlives that may. */
function isPersons(pid: number): boolean {
  return readVariable(pid, sessionVariable) !== null && readVariable(pid, ownerVariable) === null
}

/**
 * Kills what is left in a control group: a daemon without environment and parents is known from its group
 * alone.
 */
async function endGroup(group: ControlGroup): Promise<void> {
  if (!group.list().some(isPersons)) group.kill()
  await waitUntil(() => group.remove(), { everyMs: 5, mostMs: limits.killGraceMs })
}

/** A job of a killed nacre that another one takes up. */
interface LostJob {
  request: Request
  startedAt: string
  /** Where it goes on; null: it is an array of which this nacre runs what is left. */
  place: KeptPlace | null
}

/**
 * Takes up a job whose nacre was killed. `launch` starts it again, or finds it where it goes on. Null: another
 * nacre has taken it up, or it has ended. Rejects with `MisuseError`.
 */
export async function takeUpJob(
  dir: string,
  id: string,
  launch: (job: LostJob) => Promise<LiveRun>,
): Promise<Run | null> {
  const claim = join(dir, `${id}.claim`)
  if (!(await writeClaim(claim))) return null
  try {
    const record = readRecord(dir, id)
    const job = record && describeLost(dir, record)
    if (job === null) return null
    reopenRecord(dir, id)
    const run = await launch({ ...job, request: keepDeadline(job) })
    const { status, error } = run.look()
    if (status === 'not_started') {
      throw new MisuseError(error?.code ?? 'not_resumable', error?.message ?? '', 'job_id')
    }
    run.detach()
    return run
  } finally {
    rmSync(claim, { force: true })
  }
}

/** A deadline counts from the beginning, whoever holds the run. */
function keepDeadline({ request, startedAt }: LostJob): Request {
  const { timeoutMs } = request
  if (timeoutMs === null || request.array !== null) return request
  const leftMs = timeoutMs - (Date.now() - Date.parse(startedAt))
  return { ...request, timeoutMs: Math.max(1, leftMs) }
}

/** How long another nacre may take to take it up. */
const patienceMs = 30_000

/** False where another nacre has it, after it has taken it up. The claim of a killed one counts for nothing. */
async function writeClaim(path: string): Promise<boolean> {
  try {
    writeFileSync(path, JSON.stringify(identifySelf()), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  const claim = readOwnFile(path)
  // An empty one is being written.
  if (claim && !isAlive(JSON.parse(claim) as ProcessIdentity)) {
    rmSync(path, { force: true })
    return writeClaim(path)
  }
  await waitUntil(() => readOwnFile(path) === null, { everyMs: 50, mostMs: patienceMs })
  return false
}

function describeLost(dir: string, record: JobRecord): LostJob | null {
  const { id, startedAt, kept } = record
  if (record.endedAt === null && isAlive(record.owner)) return null
  if (kept && record.endedAt === null) {
    return { request: kept.request, startedAt, place: kept.place }
  }
  const array = findLedger(dir, id)
  if (array === null) {
    if (record.endedAt !== null) return null
    throw cannotGoOn(id, 'it was a run of this machine, which has ended with its nacre')
  }
  if (array.left().length === 0) return null
  if (array.record.rounds.length > 0) throw cannotGoOn(id, 'its scheduler has ended it')
  return { request: array.record.request, startedAt, place: null }
}

function cannotGoOn(id: string, why: string): MisuseError {
  return new MisuseError('not_resumable', `Job \`${id}\` cannot be resumed: ${why}`, 'job_id')
}
