import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { noText } from '../../output/bounds.ts'
import { describeFailures } from '../../protocol/array.ts'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import { idPattern } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import type { KeptPlace } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Result, Survivor, TaskSummary } from '../../protocol/result/result.ts'
import { stopTree } from '../../run/stop.ts'
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
import { beginResult } from '../results.ts'
import { findLedger } from '../task-ledger.ts'
import type { LiveRun, Run } from '../run.ts'
import { type JobRecord, readOwnFile, readRecord, readRecords, writeEnd } from './record.ts'

/** Its nacre was killed, and it does not go on at another machine. */
function isLost({ owner, kept }: JobRecord): boolean {
  return kept === null && !isAlive(owner)
}

const markOf = (pid: number) => readVariable(pid, markVariable)
const nameOf = ({ owner }: JobRecord) => `${owner.pid}:${owner.startTime}`

/** Ends the runs and jobs of every killed nacre. `dir` is the folder of the jobs. */
export async function reapKilled(dir: string): Promise<void> {
  const stateDir = dirname(dir)
  for (const owner of findKilled(presenceFolder(stateDir))) await reap(owner, stateDir)
  const lost = readRecords(dir, 'alive').filter(isLost)
  const marks = new Set(lost.length > 0 ? listProcesses().map(({ pid }) => markOf(pid)) : [])
  // The nacre of a run that is there may be alive in a pid namespace of its own.
  for (const record of lost) if (!marks.has(record.id)) endRecord(dir, record, [])
  removeLeftFolders(stateDir)
}

/** Ends a job of a killed nacre, whatever is left of it. */
export async function reapJob(dir: string, record: JobRecord): Promise<void> {
  if (isLost(record)) await reap(nameOf(record), dirname(dir))
}

/**
 * Ends what the killed nacre of this name (`<pid>:<start time>`) has started here, and writes down the ends of its
 * jobs. Gives what could not be ended.
 */
export async function reap(owner: string, stateDir: string): Promise<Survivor[]> {
  const presences = presenceFolder(stateDir)
  const groupParent = readGroupOf(presences, owner) ?? findOwnGroup()
  const dir = join(stateDir, 'jobs')
  const records = readRecords(dir, 'alive')
  const kept = new Set(records.flatMap(({ id, kept }) => (kept ? [id] : [])))
  const ended = [...findRuns(owner, kept)].map(
    async ([id, processes]) => [id, await endRun(id, processes)] as const,
  )
  const survivors = new Map(await Promise.all(ended))
  // A control group belongs to one run, so it also finds a process that has dropped its mark.
  for (const group of listGroupsOf(owner, groupParent)) await endGroup(group)
  for (const record of records) {
    if (nameOf(record) !== owner || !isLost(record)) continue
    endRecord(dir, record, survivors.get(record.id) ?? [])
  }
  removeLeftFolders(stateDir)
  removeLeftGroups(groupParent)
  forget(presences, owner)
  return [...survivors.values()].flat()
}

/**
 * The processes of its runs by the ids of these, but for those of `kept`: a host may be a part of this machine. On
 * Linux; elsewhere none can be seen.
 */
function findRuns(owner: string, kept: ReadonlySet<string>): Map<string, ProcessEntry[]> {
  const found = new Map<string, ProcessEntry[]>()
  for (const entry of listProcesses()) {
    if (entry.zombie) continue
    const id = markOf(entry.pid)
    if (id === null || !idPattern.test(id) || kept.has(id)) continue
    if (!readVariable(entry.pid, ownerVariable)?.startsWith(`${owner}:`)) continue
    found.set(id, [...(found.get(id) ?? []), entry])
  }
  return found
}

async function endRun(id: string, processes: readonly ProcessEntry[]): Promise<Survivor[]> {
  // A process that leads a session and carries the mark is the first one of the run.
  const leader = processes.find((entry) => entry.pid === entry.session)
  const pipes = leader && listRunPipes(leader.pid)
  const { survivors } = await stopTree({
    pid: leader?.pid ?? null,
    mark: id,
    ...(pipes && { pipes: () => pipes }),
  })
  return survivors
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

/** Writes down the end of a job whose nacre could not; what it wrote is in its artifact. */
function endRecord(dir: string, record: JobRecord, survivors: Survivor[]): void {
  const tasks = findLedger(dir, record.id)?.summarize()
  const end: Partial<Result> =
    tasks?.left === ''
      ? {
          status: 'exited',
          exitCode: tasks.failed === 0 ? 0 : 1,
          exitMeaning: describeFailures(tasks),
        }
      : { status: 'lost', error: { code: 'job_lost', message: describeLoss(record, tasks) } }
  const result = { ...describeUnheld(record), survivors, ...end, ...(tasks && { tasks }) }
  writeEnd(dir, { ...record, endedAt: new Date().toISOString(), result }, noText)
}

function describeLoss({ artifact }: JobRecord, tasks: TaskSummary | undefined): string {
  if (tasks) {
    const { total, succeeded, failed, left } = tasks
    const count = total - succeeded - failed
    return `The nacre that held it is gone; ${count} of ${total} tasks have no result: --array ${left} runs them`
  }
  const rest = artifact ? `; what it wrote is in ${artifact.uri}` : ''
  return `The nacre that held it was killed: how it ended is not known${rest}`
}

/** How a job stands whose nacre is gone, before anything is said of its end. */
export function describeUnheld(record: JobRecord): Result {
  const durationMs = Math.max(0, Date.now() - Date.parse(record.startedAt))
  const artifact = record.artifact && { ...record.artifact, complete: false }
  return { ...beginResult({ ...record, host: null }, { output: '' }), durationMs, artifact }
}

/**
 * Takes up a job on another machine whose nacre was killed. `launch` finds it again where it goes on. Null: another
 * nacre has taken it up, or it has ended. Rejects with `MisuseError`.
 */
export async function takeUpJob(
  dir: string,
  id: string,
  launch: (request: Request, place: KeptPlace, startedAt: Date) => Promise<LiveRun>,
): Promise<Run | null> {
  const claim = join(dir, `${id}.claim`)
  if (!(await writeClaim(claim))) return null
  try {
    const record = readRecord(dir, id)
    if (!record?.kept || record.endedAt !== null || isAlive(record.owner)) return null
    const startedAt = new Date(record.startedAt)
    const { request, place } = record.kept
    const run = await launch(keepDeadline(request, startedAt), place, startedAt)
    const { status, error } = run.look()
    if (status === 'not_started') {
      throw new MisuseError(error?.code ?? 'host_unreachable', error?.message ?? '', 'job_id')
    }
    run.detach()
    return run
  } finally {
    rmSync(claim, { force: true })
  }
}

/** A deadline counts from the beginning, whoever holds the run. */
function keepDeadline(request: Request, startedAt: Date): Request {
  const { timeoutMs } = request
  if (timeoutMs === null || request.array !== null) return request
  return { ...request, timeoutMs: Math.max(1, timeoutMs - (Date.now() - startedAt.getTime())) }
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
