import type { JobEntry } from '../../protocol/job-entry.ts'
import { isAlive } from '../../system/process-table.ts'
import type { JobRecord } from './record.ts'

/** A record as a line of the list. */
export function describeRecord(record: JobRecord): JobEntry {
  const { result } = record
  return {
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
