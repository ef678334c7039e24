import { createReadStream } from 'node:fs'
import { beginResult } from '../results.ts'
import { type Capture, type Captured, createCapture } from '../../output/capture.ts'
import { readKept } from '../../output/part.ts'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { StopReport } from '../../protocol/ports.ts'
import type { JobOutput } from '../../protocol/result/job.ts'
import type { Reading } from '../../protocol/result/reading.ts'
import type { Result, Survivor } from '../../protocol/result/result.ts'
import { nowMs } from '../../system/clock.ts'
import { isAlive, type ProcessEntry } from '../../system/process/process-table.ts'
import { pause } from '../../system/wait.ts'
import { createTreeSearch, stopTree, type TreeRoot } from '../../run/stop.ts'
import { openControlGroup } from '../../system/process/control-group.ts'
import { describeLostArray, type LostArray, openLostArray } from '../array/lost-array.ts'
import { rootFrom } from './orphans.ts'
import { type JobRecord, readKeptTexts, readRecord, writeEnd } from './record.ts'

/** How the processes of a job are found without its owner. */
function rootOf(record: JobRecord): TreeRoot {
  const { id, process: first } = record
  const group = record.group === null ? null : openControlGroup(record.group)
  return { ...(first && isAlive(first) ? rootFrom(first.pid, id) : { pid: null, mark: id }), group }
}

/** What is still alive of a job whose owner is gone. */
function findProcesses(record: JobRecord): ProcessEntry[] {
  return createTreeSearch(rootOf(record))()
}

/** The clean text of a job whose owner was killed, made anew from its artifact. */
async function recapture(record: JobRecord, array: LostArray | null): Promise<Capture> {
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
  await array?.recapture(capture)
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

/** Jobs that nobody holds, as their records, their artifacts and the process table tell. */
export interface LostJobs {
  /** Writes down the end of a job whose owner could not; gives the record as it is then. */
  settle(record: JobRecord): Promise<JobRecord>
  resultOf: (record: JobRecord) => Promise<Result>
  read(record: JobRecord, reading: Reading): Promise<JobOutput>
  wait(record: JobRecord, timeoutMs: number, signal?: AbortSignal): Promise<Result>
  kill: (record: JobRecord) => Promise<Result>
}

/** How often a job that nobody holds is looked at while somebody waits for it. */
const lookEveryMs = 200

/** `dir` is the folder of the jobs; `troubles` tell of an id why its job on another machine was not taken up. */
export function createLostJobs(dir: string, troubles: ReadonlyMap<string, string>): LostJobs {
  async function settle(record: JobRecord): Promise<JobRecord> {
    if (record.endedAt !== null || isAlive(record.owner) || record.kept) return record
    const array = openLostArray(dir, record.id)
    if (array ? await array.refresh() : findProcesses(record).length > 0) return record
    return finish(record, null)
  }

  async function finish(record: JobRecord, stopped: StopReport | null) {
    const array = openLostArray(dir, record.id)
    const captured = await (await recapture(record, array)).finish()
    const lost = lostResult(record, { captured, running: false, stopped })
    const told = stopped?.notices ?? []
    const result = array ? describeLostArray(lost, array.summarize(), told) : lost
    return writeEnd(dir, { ...record, endedAt: new Date().toISOString(), result }, null)
  }

  async function resultOf(record: JobRecord): Promise<Result> {
    if (record.result) return record.result
    const array = openLostArray(dir, record.id)
    const captured = (await recapture(record, array)).snapshot()
    const lost = lostResult(record, { captured, running: true, stopped: null })
    const trouble = troubles.get(record.id)
    if (trouble !== undefined) {
      return { ...lost, host: record.kept?.request.host ?? null, notices: [trouble] }
    }
    if (array) await array.refresh()
    return array ? describeLostArray(lost, array.summarize(), []) : lost
  }

  async function read(record: JobRecord, reading: Reading): Promise<JobOutput> {
    const status = record.result?.status ?? 'running'
    const array = openLostArray(dir, record.id)
    return (
      readText(record, reading) ?? { ...(await recapture(record, array)).read(reading), status }
    )
  }

  function readText(record: JobRecord, reading: Reading): JobOutput | null {
    if (record.result === null) return null
    const texts = readKeptTexts(dir, record)
    return texts && { ...readKept(texts, reading), status: record.result.status }
  }

  async function wait(record: JobRecord, timeoutMs: number, signal?: AbortSignal): Promise<Result> {
    const deadline = nowMs() + timeoutMs
    let current = record
    while (current.endedAt === null && nowMs() < deadline && !signal?.aborted) {
      const pauseMs = Math.min(lookEveryMs, Math.max(1, deadline - nowMs()))
      await pause(pauseMs, signal)
      current = await settle(readRecord(dir, current.id) ?? current)
    }
    return resultOf(current)
  }

  async function kill(record: JobRecord): Promise<Result> {
    if (record.endedAt !== null) return resultOf(record)
    const trouble = troubles.get(record.id)
    if (trouble !== undefined) throw new MisuseError('host_unreachable', trouble, 'job_id')
    const notices = (await openLostArray(dir, record.id)?.cancel()) ?? []
    const { survivors } = await stopTree(rootOf(record))
    return resultOf(await finish(record, { survivors, notices }))
  }

  return { settle, resultOf, read, wait, kill }
}
