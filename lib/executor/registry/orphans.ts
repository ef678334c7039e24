import { uptime } from 'node:os'
import { type JobEntry } from '../../protocol/job.ts'
import { idPattern } from '../../protocol/ids.ts'
import {
  describeProcess,
  listProcesses,
  nameProcess,
  type ProcessEntry,
  readVariable,
} from '../../run/process-table.ts'
import { markVariable, ownerVariable, stopTree } from '../../run/stop.ts'
import type { Survivor } from '../../protocol/result.ts'

/** A run whose nacre was killed before it could declare it: known from its processes alone. */
export interface Orphan {
  /** Of the run. */
  id: string
  /** Oldest first. */
  processes: ProcessEntry[]
}

/** Runs that nobody holds and that have no record. Linux only; elsewhere there are none to be seen. */
export function findOrphans(hasRecord: (id: string) => boolean): Orphan[] {
  return groupByRun((owner) => nameProcess(Number.parseInt(owner, 10)) !== owner, hasRecord)
}

/** What the nacre of this name has started and not declared. */
export function findRunsOf(owner: string, hasRecord: (id: string) => boolean): Orphan[] {
  return groupByRun((name) => name === owner, hasRecord)
}

function groupByRun(
  isWanted: (owner: string) => boolean,
  hasRecord: (id: string) => boolean,
): Orphan[] {
  const found = new Map<string, ProcessEntry[]>()
  for (const entry of listProcesses()) {
    if (entry.zombie) continue
    const id = readVariable(entry.pid, markVariable)
    if (id === null || !idPattern.test(id)) continue
    const owner = readVariable(entry.pid, ownerVariable)
    if (!owner || !isWanted(owner) || hasRecord(id)) continue
    found.set(id, [...(found.get(id) ?? []), entry])
  }
  return [...found].map(([id, processes]) => ({
    id,
    processes: processes.sort((a, b) => Number(a.startTime) - Number(b.startTime)),
  }))
}

/** Ends a run of which only the mark is known. Gives what could not be ended. */
export async function endOrphan(id: string): Promise<Survivor[]> {
  const { survivors } = await stopTree({ pid: null, mark: id })
  return survivors
}

export function describeOrphan({ id, processes }: Orphan): JobEntry {
  const [first] = processes
  const startedAtMs = first ? Date.now() - uptime() * 1000 + toMs(first.startTime) : Date.now()
  return {
    jobId: id,
    status: 'running',
    exitCode: null,
    signal: null,
    reason: null,
    command: first ? describeProcess(first.pid) : '',
    cwd: '',
    durationMs: Math.max(0, Math.round(Date.now() - startedAtMs)),
    error: null,
    origin: null,
    pid: first?.pid ?? null,
    ownerPid: null,
    ownerAlive: false,
    startedAt: new Date(startedAtMs).toISOString(),
    endedAt: null,
    artifact: null,
  }
}

/** proc(5) counts in clock ticks, of which every Linux makes 100 a second for user programs. */
function toMs(startTime: string): number {
  return Number(startTime) * 10
}
