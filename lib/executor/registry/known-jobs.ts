import { setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { JobEntry } from '../../protocol/job-entry.ts'
import type { JobOutput } from '../../protocol/job-output.ts'
import { limits } from '../../protocol/limits.ts'
import { readPart } from '../../output/part.ts'
import type { Result } from '../../protocol/result.ts'
import { stopTree } from '../../run/stop.ts'
import { removeLeftFolders } from '../../system/temporary-folder.ts'
import { isAlive } from '../../system/process-table.ts'
import { callOwner, type JobCall, OwnerGone } from './job-call.ts'
import { findProcesses, lostResult, recapture, rootOf } from './lost.ts'
import { describeRecord } from './describe.ts'
import { describeOrphan, endOrphan, findOrphans } from './orphans.ts'
import { pruneJobs } from './prune.ts'
import { type JobRecord, listRecordIds, readKeptText, readRecord, writeRecord } from './record.ts'

/**
 * The jobs of every nacre of this user. Ids may be given by their beginning, with or without `run_`.
 * Unknown and ambiguous ids are `MisuseError`s.
 */
export interface KnownJobs {
  /** In the order in which they were started. */
  list(): Promise<JobEntry[]>
  show(id: string): Promise<Result>
  read(id: string, cursor: number): Promise<JobOutput>
  /** Waits for the end, at most 300 s; the result says whether it came. */
  wait(id: string, timeoutSeconds: number): Promise<Result>
  /** Settles when the job's input has taken the text. `end` closes it afterwards. */
  write(id: string, text: string, end: boolean): Promise<void>
  /** Settles when nothing of it is alive any more, or what is left is named. */
  kill(id: string): Promise<Result>
}

/** How often a job that nobody holds is looked at while somebody waits for it. */
const lookEveryMs = 200

/** `dir` is the folder of the jobs. */
export function openKnownJobs(dir: string): KnownJobs {
  function find(given: string): JobRecord | { orphan: string } {
    const begin = given.startsWith('run_') ? given : `run_${given}`
    const matching = (ids: string[]) => ids.filter((id) => id.startsWith(begin))
    const recorded = matching(listRecordIds(dir))
    // The whole process table is looked through only for what has no record.
    const ids = recorded.length > 0 ? recorded : matching(findOrphans(dir).map(({ id }) => id))
    const [id] = ids.includes(begin) ? [begin] : ids
    if (id === undefined || given === '') {
      const hint = 'nacre job list shows those there are'
      throw new MisuseError('not_found', `There is no job \`${given}\`; ${hint}`, 'job_id')
    }
    if (ids.length > 1 && id !== begin) {
      const message = `${ids.length} jobs begin with \`${given}\`; give more of the id`
      throw new MisuseError('ambiguous', message, 'job_id')
    }
    return readRecord(dir, id) ?? { orphan: id }
  }

  function findRecord(given: string): JobRecord {
    const found = find(given)
    if (!('orphan' in found)) return found
    const message = `Of job \`${found.orphan}\` only its processes are known; it can be killed`
    throw new MisuseError('no_record', message, 'job_id')
  }

  /** Asks the owner; where it is gone, what the files say. */
  async function ask<Answer>(
    record: JobRecord,
    call: JobCall,
    otherwise: (record: JobRecord) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    if (record.endedAt === null && record.socket !== null && isAlive(record.owner)) {
      try {
        return (await callOwner(record.socket, call)) as Answer
      } catch (error) {
        if (!(error instanceof OwnerGone)) throw error
      }
    }
    // The owner may have written the end since.
    return otherwise(await settleLost(readRecord(dir, record.id) ?? record))
  }

  /** Writes down the end of a job whose owner could not. */
  async function settleLost(record: JobRecord): Promise<JobRecord> {
    if (record.endedAt !== null || isAlive(record.owner)) return record
    if (findProcesses(record).length > 0) return record
    return finish(record, null)
  }

  async function finish(record: JobRecord, stopped: { survivors: Result['survivors'] } | null) {
    const captured = await (await recapture(record)).finish()
    const result = lostResult(record, { captured, running: false, stopped })
    const ended: JobRecord = { ...record, endedAt: new Date().toISOString(), result }
    writeRecord(dir, ended)
    return ended
  }

  async function resultOf(record: JobRecord): Promise<Result> {
    if (record.result) return record.result
    const captured = (await recapture(record)).snapshot()
    return lostResult(record, { captured, running: true, stopped: null })
  }

  async function readFiles(record: JobRecord, cursor: number): Promise<JobOutput> {
    const status = record.result?.status ?? 'running'
    const text = record.endedAt === null ? null : readKeptText(dir, record.id)
    if (text === null) return { ...(await recapture(record)).read({ cursor }), status }
    return { ...readPart(Buffer.from(text), record.textStart, { cursor }), status }
  }

  async function waitForLost(record: JobRecord, timeoutMs: number): Promise<Result> {
    const deadline = nowMs() + timeoutMs
    let current = record
    while (current.endedAt === null && nowMs() < deadline) {
      await delay(Math.min(lookEveryMs, Math.max(1, deadline - nowMs())))
      current = await settleLost(readRecord(dir, current.id) ?? current)
    }
    return resultOf(current)
  }

  async function killLost(record: JobRecord): Promise<Result> {
    if (record.endedAt !== null) return resultOf(record)
    const { survivors } = await stopTree(rootOf(record))
    return resultOf(await finish(record, { survivors }))
  }

  return {
    async list() {
      pruneJobs(dir)
      removeLeftFolders()
      const entries: JobEntry[] = []
      for (const id of listRecordIds(dir)) {
        const record = readRecord(dir, id)
        if (record) entries.push(describeRecord(await settleLost(record)))
      }
      entries.push(...findOrphans(dir).map(describeOrphan))
      return entries.sort((a, b) => a.startedAt.localeCompare(b.startedAt))
    },

    show(id) {
      const record = findRecord(id)
      return ask(record, { method: 'show', jobId: record.id }, resultOf)
    },

    read(id, cursor) {
      const record = findRecord(id)
      const call: JobCall = { method: 'read', jobId: record.id, cursor }
      return ask(record, call, (lost) => readFiles(lost, cursor))
    },

    wait(id, timeoutSeconds) {
      const record = findRecord(id)
      const seconds = Math.min(timeoutSeconds, limits.jobWaitSeconds)
      const call: JobCall = { method: 'wait', jobId: record.id, timeoutSeconds: seconds }
      return ask(record, call, (lost) => waitForLost(lost, seconds * 1000))
    },

    async write(id, text, end) {
      const record = findRecord(id)
      await ask(record, { method: 'write', jobId: record.id, text, end }, () => {
        const message = `Job \`${record.id}\` takes no input any more`
        throw new MisuseError('no_input', message, 'job_id')
      })
    },

    async kill(id) {
      const found = find(id)
      if ('orphan' in found) return killOrphan(found.orphan)
      return ask(found, { method: 'kill', jobId: found.id }, killLost)
    },
  }

  async function killOrphan(id: string): Promise<Result> {
    const orphan = findOrphans(dir).find((it) => it.id === id) ?? { id, processes: [] }
    const run = { ...describeOrphan(orphan), id, origin: 'print' as const }
    const stopped = { survivors: await endOrphan(orphan) }
    return lostResult(run, { captured: nothing, running: false, stopped })
  }
}

/** What is known of the output of a run without a record. */
const nothing = { output: '', truncation: null, artifact: null, notices: [] }
