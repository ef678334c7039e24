import { createReadStream } from 'node:fs'
import { beginResult } from '../results.ts'
import { type Capture, type Captured, createCapture } from '../../output/capture.ts'
import { codeOf } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Result, Survivor } from '../../protocol/result/result.ts'
import type { ProcessEntry } from '../../system/process/process-table.ts'
import { createTreeSearch, type TreeRoot } from '../../run/stop.ts'
import { openControlGroup } from '../../system/process/control-group.ts'
import { isAlive } from '../../system/process/process-table.ts'
import { rootFrom } from './orphans.ts'
import type { JobRecord } from './record.ts'

/** How the processes of a job are found without its owner. */
export function rootOf(record: JobRecord): TreeRoot {
  const { id, process: first } = record
  const group = record.group === null ? null : openControlGroup(record.group)
  return { ...(first && isAlive(first) ? rootFrom(first.pid, id) : { pid: null, mark: id }), group }
}

/** What is still alive of a job whose owner is gone. */
export function findProcesses(record: JobRecord): ProcessEntry[] {
  return createTreeSearch(rootOf(record))()
}

/** The clean text of a job whose owner was killed, made anew from its artifact. */
export async function recapture(record: JobRecord): Promise<Capture> {
  const capture = createCapture({
    runId: record.id,
    command: record.command,
    request: {
      streams: 'merged',
      head: null,
      tail: null,
      maxLines: limits.maxLines,
      maxBytes: limits.maxBytes,
      truncate: 'tail',
      artifact: 'never',
      pty: record.pty,
    },
    store: null,
  })
  for (const kept of [record.artifact, record.stderrArtifact]) {
    if (kept) await replay(kept.path, capture)
  }
  return capture
}

async function replay(path: string, capture: Capture): Promise<void> {
  try {
    for await (const bytes of createReadStream(path)) await capture.write('output', bytes as Buffer)
  } catch (error) {
    // Nothing was written yet, or it has been removed since.
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/** How a job stands that nobody holds any more. */
export interface Loss {
  captured: Captured
  /** Its processes are alive. */
  running: boolean
  /** What the stop of the job has told, where it has just been stopped. */
  stopped: { survivors: Survivor[] } | null
}

/** The result of a run whose holder is gone. */
export type LostRun = Pick<
  JobRecord,
  'id' | 'origin' | 'command' | 'cwd' | 'startedAt' | 'artifact'
>

export function lostResult(record: LostRun, { captured, running, stopped }: Loss): Result {
  const owner = 'The nacre that held it was killed'
  const what = running ? 'what it writes now is lost' : 'how it ended is not known'
  const { notices, ...text } = captured
  return {
    ...beginResult({ ...record, host: null }, text),
    ...text,
    status: running ? 'running' : 'stopped',
    reason: running ? null : stopped ? 'kill' : 'shutdown',
    survivors: stopped?.survivors ?? [],
    durationMs: Math.max(0, Date.now() - Date.parse(record.startedAt)),
    artifact: record.artifact && { ...record.artifact, complete: false },
    jobId: running ? record.id : null,
    error: running || stopped ? null : { code: 'job_lost', message: `${owner}: ${what}` },
    notices: [`${owner}: ${stopped ? 'its last output may be missing' : what}`, ...notices],
  }
}
