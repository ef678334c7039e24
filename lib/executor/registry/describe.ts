import type { JobEntry } from '../../protocol/job-entry.ts'
import type { JobOutput } from '../../protocol/job-output.ts'
import { isAlive } from './identity.ts'
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

/** Text since `cursor` out of what is kept, which begins at `start`; both count bytes. */
export function cutText(text: string, start: number, cursor: number): Omit<JobOutput, 'status'> {
  const bytes = Buffer.from(text)
  const total = start + bytes.length
  const wanted = Math.min(Math.max(Math.floor(cursor), 0), total)
  let from = Math.max(wanted - start, 0)
  // Never in the middle of a character.
  while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++
  return {
    text: bytes.toString('utf8', from),
    cursor: total,
    truncatedBefore: start + from - wanted,
  }
}
