import { connect } from 'node:net'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { idPattern, fromWire, toWire } from '../../protocol/wire.ts'
import type { JobEntry, JobOutput, Reading } from '../../protocol/result/reading.ts'
import type { AllMethods, MethodName, RpcMethods } from '../../protocol/rpc/methods.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { TaskEnd } from '../../protocol/array.ts'
import { type AnyNotification, askOnce, ConnectionLost } from '../../wire/client.ts'
import { isAlive } from '../../system/process/process-table.ts'
import { waitUntil } from '../../system/clock.ts'
import { noText, readKept } from '../../output/bounds.ts'
import { findLedger } from '../task-ledger.ts'
import type { HolderStart } from '../options.ts'
import { takeUpInHolder } from './holder.ts'
import { describeUnheld, reapJob, reapKilled } from './killed.ts'
import { type Job, type JobWait, notFound } from './port.ts'
import {
  describeRecord,
  findRecordFile,
  type JobRecord,
  listDamaged,
  listIds,
  pruneJobs,
  readKeptTexts,
  readRecord,
  readRecords,
} from './record.ts'

export type KnownJobs = ReturnType<typeof openKnownJobs>

/** How long a list waits for a job's other machine; who takes the job up goes on with it. */
const listPatienceMs = 2000

/** The method `shell.wait` refuses a time of zero, so that a mere look waits this long. */
const leastWaitSeconds = 0.001

/**
 * The jobs of every nacre of this user that have records: their holders answer, or their files do. `dir` is the
 * folder of the jobs. `holder` takes up jobs of killed nacres on other machines; null: nobody does.
 */
export function openKnownJobs(dir: string, holder: HolderStart | null) {
  function findRecord(id: string): JobRecord {
    const record = readRecord(dir, id)
    if (record) return record
    const path = findRecordFile(dir, id)
    if (path === null) throw notFound(id)
    const message = `The record of job \`${id}\` is damaged; remove it: ${path}`
    throw new MisuseError('damaged_record', message, 'job_id')
  }

  /** Asks the process that holds the job; where that is gone, `otherwise` answers from the files. */
  async function ask<Name extends MethodName, Answer>(
    id: string,
    method: Name,
    params: AllMethods[Name]['params'],
    otherwise: (record: JobRecord) => Answer | Promise<Answer>,
    options?: Parameters<typeof askOnce>[3],
  ): Promise<Answer> {
    const record = await takeUp(findRecord(id))
    if (record.endedAt === null && record.socket !== null && isAlive(record.owner)) {
      try {
        return fromWire(await askOnce(connect(record.socket), method, params, options)) as Answer
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
      // One that is killed closes its socket a moment before it is gone.
      await waitUntil(() => !isAlive(record.owner), { everyMs: 20, mostMs: limits.killGraceMs })
    }
    if (record.endedAt === null) await reapKilled(dir)
    return otherwise(readRecord(dir, id) ?? record)
  }

  /**
   * A job that goes on at another machine though its holder was killed has a new one from now on. Rejects with
   * `MisuseError` where that machine does not answer.
   */
  async function takeUp(record: JobRecord, withinMs?: number): Promise<JobRecord> {
    const { id, kept, owner, endedAt } = record
    if (kept === null || endedAt !== null || isAlive(owner)) return record
    try {
      await takeUpInHolder(holder, id, withinMs)
    } catch (error) {
      const where = `It goes on at ${kept.request.host} or has ended there`
      throw new MisuseError('host_unreachable', `${where}: ${messageOf(error)}`, 'job_id')
    }
    return readRecord(dir, id) ?? record
  }

  const resultOf = (record: JobRecord): Result =>
    record.result ?? { ...describeUnheld(record), jobId: record.id }

  function readUnheld({ id, result }: JobRecord, reading: Reading): JobOutput {
    const text = readKept(readKeptTexts(dir, id) ?? noText, reading)
    return { ...text, status: result?.status ?? 'running' }
  }

  async function killUnheld(record: JobRecord): Promise<Result> {
    if (record.endedAt === null) await reapJob(dir, record)
    return resultOf(readRecord(dir, record.id) ?? record)
  }

  /** By its whole id. */
  function open(id: string): Job {
    return {
      show: () => ask(id, 'shell.status', { id }, resultOf),
      read(reading) {
        const params = toWire({ id, ...reading }) as RpcMethods['shell.output']['params']
        return ask(id, 'shell.output', params, (record) => readUnheld(record, reading))
      },
      wait({ timeoutSeconds, ready, signal }: JobWait & { timeoutSeconds: number }) {
        const params = {
          id,
          timeout_seconds: Math.max(timeoutSeconds, leastWaitSeconds),
          ...(ready === undefined ? {} : { ready }),
        }
        return ask(id, 'shell.wait', params, resultOf, { signal })
      },
      follow(follower, signal) {
        const onNotification = async ({ method, params }: AnyNotification) => {
          await follower.notify(method, params)
        }
        return ask(id, 'shell.attach', { id }, resultOf, { signal, onNotification })
      },
      async write(data, end) {
        await ask(id, 'shell.input', { id, data, ...(end && { end }) }, () => {
          throw new MisuseError('no_input', `Job \`${id}\` takes no input any more`, 'job_id')
        })
      },
      async resize(columns, rows) {
        await ask(id, 'shell.resize', { id, columns, rows }, () => undefined)
      },
      kill(reason) {
        const told = reason === 'cancel' || reason === 'timeout' ? reason : 'kill'
        return ask(id, 'shell.cancel', { id, reason: told }, killUnheld)
      },
    }
  }

  return {
    /** The whole id that is meant. Throws `MisuseError` if that is none, or more than one. */
    resolve(given: string): string {
      const begin = given.startsWith('run_') ? given : `run_${given}`
      const all = [...listIds(dir, 'alive'), ...listIds(dir, 'ended')]
      const ids = given === '' ? [] : all.filter((id) => id.startsWith(begin))
      const [id] = ids.includes(begin) ? [begin] : ids
      if (id === undefined) throw notFound(given)
      if (ids.length === 1 || id === begin) return id
      const message = `${ids.length} jobs begin with \`${given}\`; give more of the id`
      throw new MisuseError('ambiguous', message, 'job_id')
    },
    open,
    /** By its whole id: the conversation or connection of a model that it belongs to; else null. */
    ownerOf: (id: string) => (idPattern.test(id) ? (readRecord(dir, id)?.belongsTo ?? null) : null),
    boundsOf: (id: string) => (idPattern.test(id) ? (readRecord(dir, id)?.bounds ?? null) : null),
    async list({ runningOnly }: { runningOnly: boolean }): Promise<JobEntry[]> {
      pruneJobs(dir)
      await reapKilled(dir)
      await Promise.allSettled(
        readRecords(dir, 'alive').map((record) => takeUp(record, listPatienceMs)),
      )
      const alive = readRecords(dir, 'alive')
      const ids = new Set(alive.map(({ id }) => id))
      const ended = runningOnly ? [] : readRecords(dir, 'ended').filter(({ id }) => !ids.has(id))
      return [...alive, ...ended].map(describeRecord)
    },
    /** The jobs whose holders are alive. */
    listAlive: () => readRecords(dir, 'alive').filter(({ owner }) => isAlive(owner)),
    listDamaged: () => listDamaged(dir),
    /** The tasks of an array that have ended. */
    async tasks(id: string): Promise<TaskEnd[]> {
      // A scheduler may have ended tasks that nobody has recorded yet.
      await takeUp(findRecord(id)).catch(() => undefined)
      const array = findLedger(dir, id)
      if (array) return array.ends()
      throw new MisuseError('no_array', `Job \`${id}\` is no array of tasks`, 'job_id')
    },
  }
}
