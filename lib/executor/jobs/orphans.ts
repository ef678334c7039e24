import { limits } from '../../protocol/limits.ts'
import { waitUntil } from '../../system/clock.ts'
import { type ControlGroup, listGroupsOf } from '../../system/process/control-group.ts'
import { dirname } from 'node:path'
import { idPattern } from '../../protocol/wire.ts'
import type { JobEntry } from '../../protocol/result/reading.ts'
import { describeJob } from '../results.ts'
import type { Survivor } from '../../protocol/result/result.ts'
import {
  ageMs,
  describeProcess,
  isRunning,
  listProcesses,
  listRunPipes,
  nameProcess,
  type ProcessEntry,
  readVariable,
} from '../../system/process/process-table.ts'
import { stopTree, type TreeRoot } from '../../run/stop.ts'
import { readRecord, readRecords } from './record.ts'
import { markVariable, ownerVariable, sessionVariable } from '../../system/process/own-process.ts'

/** A run whose nacre was killed before it could declare it: known from its processes alone. */
export interface Orphan {
  /** Of the run. */
  id: string
  /** The processes of the run, the oldest first. */
  processes: ProcessEntry[]
}

/** Runs whose nacre is gone and that have no record. On Linux; elsewhere none can be seen. */
export function findOrphans(dir: string): Orphan[] {
  const home = `:${dirname(dir)}`
  return groupByRun(
    dir,
    (owner) => owner.endsWith(home) && !owner.startsWith(`${nameOwner(owner)}:`),
  )
}

/**
 * Ends what the nacre of this name has started and not declared. `groupParent`: where its control groups
 * are. Gives what could not be ended.
 */
export async function endRunsOf(
  owner: string,
  dir: string,
  groupParent: string | null,
): Promise<Survivor[]> {
  const ends = groupByRun(dir, (name) => name.startsWith(`${owner}:`)).map(endOrphan)
  const survivors = (await Promise.all(ends)).flat()
  // A control group belongs to one run, so it also finds a process that has dropped its mark.
  const ofJobs = new Set(readRecords(dir, 'alive').map(({ group }) => group))
  for (const group of listGroupsOf(owner, groupParent)) {
    if (!ofJobs.has(group.path)) await endGroup(group)
  }
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

/** The name (`<pid>:<start time>`) of the process that runs under the number of an owner now. */
function nameOwner(owner: string): string {
  const pid = Number.parseInt(owner, 10)
  return isRunning(pid) ? nameProcess(pid) : 'none'
}

/** Gives what could not be ended. */
export async function endOrphan({ id, processes }: Orphan): Promise<Survivor[]> {
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

function groupByRun(dir: string, isWanted: (owner: string) => boolean): Orphan[] {
  const found = new Map<string, ProcessEntry[]>()
  for (const entry of listProcesses()) {
    if (entry.zombie) continue
    const id = readVariable(entry.pid, markVariable)
    if (id === null || !idPattern.test(id)) continue
    const owner = readVariable(entry.pid, ownerVariable)
    if (!owner || !isWanted(owner) || readRecord(dir, id)) continue
    found.set(id, [...(found.get(id) ?? []), entry])
  }
  return [...found].map(([id, processes]) => ({
    id,
    processes: processes.sort((a, b) => Number(a.startTime) - Number(b.startTime)),
  }))
}

export function describeOrphan({ id, processes }: Orphan): JobEntry {
  const [first] = processes
  const startedAtMs = Date.now() - (first ? ageMs(first) : 0)
  return describeJob(
    {
      id,
      command: first ? describeProcess(first.pid) : '',
      cwd: '',
      origin: null,
      pid: first?.pid ?? null,
      pty: false,
      ownerPid: null,
      ownerAlive: false,
      startedAt: new Date(startedAtMs).toISOString(),
      endedAt: null,
      artifact: null,
    },
    null,
  )
}
