import { createReadStream } from 'node:fs'
import { connect } from 'node:net'
import { codeOf, messageOf, MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { StopReport } from '../../protocol/ports.ts'
import { idPattern, fromWire, toWire } from '../../protocol/wire.ts'
import type { JobEntry, JobOutput, Reading } from '../../protocol/result/reading.ts'
import type { AllMethods, MethodName, RpcMethods } from '../../protocol/rpc/methods.ts'
import type { Result } from '../../protocol/result/result.ts'
import type { TaskEnd } from '../../protocol/array.ts'
import { type AnyNotification, askOnce, ConnectionLost } from '../../wire/client.ts'
import { openControlGroup } from '../../system/process/control-group.ts'
import { isAlive } from '../../system/process/process-table.ts'
import { pause, nowMs } from '../../system/clock.ts'
import { createTreeSearch, stopTree, type TreeRoot } from '../../run/stop.ts'
import { type Capture, type Captured, createCapture } from '../../output/capture.ts'
import { readKept } from '../../output/bounds.ts'
import { beginResult } from '../results.ts'
import { describeLostArray, findLedger, type TaskLedger } from '../task-ledger.ts'
import type { HolderStart } from '../options.ts'
import { takeUpInHolder } from './holder.ts'
import { reapKilled, rootFrom } from './killed.ts'
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
  writeEnd,
} from './record.ts'

export type KnownJobs = ReturnType<typeof openKnownJobs>

/** How often a job that nobody holds is looked at while somebody waits for it. */
const lookEveryMs = 200

/** How long a list waits for a job's other machine; who takes the job up goes on with it. */
const listPatienceMs = 2000

/** The method `shell.wait` refuses a time of zero, so that a mere look waits this long. */
const leastWaitSeconds = 0.001

/** A method, its parameters, and how it is called. */
type Question<Name extends MethodName> = [
  method: Name,
  params: AllMethods[Name]['params'],
  options?: Parameters<typeof askOnce>[3],
]

/**
 * The jobs of every nacre of this user that have records: their holders answer, or their files do. `dir` is the
 * folder of the jobs. `holder` takes up jobs of killed nacres on other machines; null: nobody does.
 */
export function openKnownJobs(dir: string, holder: HolderStart | null) {
  /** Why jobs on other machines were not taken up. */
  const troubles = new Map<string, string>()

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
    [method, params, options = {}]: Question<Name>,
    otherwise: (record: JobRecord) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const record = await takeUp(findRecord(id))
    if (record.endedAt === null && record.socket !== null && isAlive(record.owner)) {
      try {
        return fromWire(await askOnce(connect(record.socket), method, params, options)) as Answer
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
    }
    // The owner may have written the end since.
    return otherwise(await settle(readRecord(dir, id) ?? record))
  }

  /** A job that goes on at another machine though its holder was killed has a new one from now on. */
  async function takeUp(record: JobRecord, withinMs?: number): Promise<JobRecord> {
    const { id, kept, owner, endedAt } = record
    if (kept === null || endedAt !== null || isAlive(owner)) return record
    try {
      await takeUpInHolder(holder, id, withinMs)
      return readRecord(dir, id) ?? record
    } catch (error) {
      const where = `It goes on at ${kept.request.host} or has ended there`
      troubles.set(id, `${where}: ${messageOf(error)}`)
      return record
    }
  }

  /** Writes down the end of a job whose owner could not; gives the record as it is then. */
  async function settle(record: JobRecord): Promise<JobRecord> {
    if (record.endedAt !== null || isAlive(record.owner) || record.kept) return record
    const isArray = findLedger(dir, record.id) !== null
    if (!isArray && createTreeSearch(rootOf(record))().length > 0) return record
    return finish(record, null)
  }

  async function finish(record: JobRecord, stopped: StopReport | null): Promise<JobRecord> {
    const array = findLedger(dir, record.id)
    const captured = await (await recapture(record, array)).finish()
    const lost = lostResult(record, { captured, running: false, stopped })
    const result = array ? describeLostArray(lost, array.summarize()) : lost
    return writeEnd(dir, { ...record, endedAt: new Date().toISOString(), result }, null)
  }

  async function resultOf(record: JobRecord): Promise<Result> {
    if (record.result) return record.result
    const array = findLedger(dir, record.id)
    const captured = (await recapture(record, array)).snapshot()
    const lost = lostResult(record, { captured, running: true, stopped: null })
    const trouble = troubles.get(record.id)
    if (trouble !== undefined) {
      return { ...lost, host: record.kept?.request.host ?? null, notices: [trouble] }
    }
    return array ? describeLostArray(lost, array.summarize()) : lost
  }

  async function readLost(record: JobRecord, reading: Reading): Promise<JobOutput> {
    const status = record.result?.status ?? 'running'
    const texts = record.result && readKeptTexts(dir, record.id)
    if (texts) return { ...readKept(texts, reading), status }
    const captured = await recapture(record, findLedger(dir, record.id))
    return { ...captured.read(reading), status }
  }

  async function waitForLost(
    record: JobRecord,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Result> {
    const deadline = nowMs() + timeoutMs
    let current = record
    while (current.endedAt === null && nowMs() < deadline && !signal?.aborted) {
      await pause(Math.min(lookEveryMs, Math.max(1, deadline - nowMs())), signal)
      current = await settle(readRecord(dir, current.id) ?? current)
    }
    return resultOf(current)
  }

  async function killLost(record: JobRecord): Promise<Result> {
    if (record.endedAt !== null) return resultOf(record)
    const trouble = troubles.get(record.id)
    if (trouble !== undefined) throw new MisuseError('host_unreachable', trouble, 'job_id')
    return resultOf(await finish(record, await stopTree(rootOf(record))))
  }

  /** By its whole id. */
  function open(id: string): Job {
    return {
      show: () => ask(id, ['shell.status', { id }], resultOf),
      read(reading) {
        const params = toWire({ id, ...reading }) as RpcMethods['shell.output']['params']
        return ask(id, ['shell.output', params], (record) => readLost(record, reading))
      },
      wait({ timeoutSeconds, ready, signal }: JobWait & { timeoutSeconds: number }) {
        const params = {
          id,
          timeout_seconds: Math.max(timeoutSeconds, leastWaitSeconds),
          ...(ready === undefined ? {} : { ready }),
        }
        return ask(id, ['shell.wait', params, { signal }], (record) =>
          waitForLost(record, timeoutSeconds * 1000, signal),
        )
      },
      follow(follower, signal) {
        const onNotification = async ({ method, params }: AnyNotification) => {
          await follower.notify(method, params)
        }
        return ask(id, ['shell.attach', { id }, { signal, onNotification }], (record) =>
          waitForLost(record, Infinity, signal),
        )
      },
      async write(data, end) {
        await ask(id, ['shell.input', { id, data, ...(end && { end }) }], () => {
          throw new MisuseError('no_input', `Job \`${id}\` takes no input any more`, 'job_id')
        })
      },
      async resize(columns, rows) {
        await ask(id, ['shell.resize', { id, columns, rows }], () => undefined)
      },
      kill(reason) {
        const told = reason === 'cancel' || reason === 'timeout' ? reason : 'kill'
        return ask(id, ['shell.cancel', { id, reason: told }], killLost)
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
    async list({ runningOnly }: { runningOnly: boolean }): Promise<JobEntry[]> {
      pruneJobs(dir)
      await reapKilled(dir)
      const settled: JobRecord[] = []
      const alive = await Promise.all(
        readRecords(dir, 'alive').map((it) => takeUp(it, listPatienceMs)),
      )
      for (const record of alive) settled.push(await settle(record))
      const ids = new Set(settled.map(({ id }) => id))
      const ended = runningOnly ? [] : readRecords(dir, 'ended').filter(({ id }) => !ids.has(id))
      return [...settled, ...ended].map(describeRecord)
    },
    /** The jobs whose holders are alive. */
    listAlive: () => readRecords(dir, 'alive').filter(({ owner }) => isAlive(owner)),
    listDamaged: () => listDamaged(dir),
    /** The tasks of an array that have ended. */
    async tasks(id: string): Promise<TaskEnd[]> {
      // A scheduler may have ended tasks that nobody has recorded yet.
      await takeUp(findRecord(id))
      const array = findLedger(dir, id)
      if (array) return array.ends()
      throw new MisuseError('no_array', `Job \`${id}\` is no array of tasks`, 'job_id')
    },
    /** Has it go on if its nacre was killed; gives how it stands. */
    async resume(id: string): Promise<Result> {
      const record = findRecord(id)
      if (record.endedAt !== null || !isAlive(record.owner)) await takeUpInHolder(holder, id)
      return open(id).show()
    },
  }
}

/** How the processes of a job are found without its owner. */
function rootOf(record: JobRecord): TreeRoot {
  const { id, process: first } = record
  const group = record.group === null ? null : openControlGroup(record.group)
  return { ...(first && isAlive(first) ? rootFrom(first.pid, id) : { pid: null, mark: id }), group }
}

/** The clean text of a job whose owner was killed, made anew from its artifact. */
async function recapture(record: JobRecord, array: TaskLedger | null): Promise<Capture> {
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
  for (const { result } of array?.ends() ?? []) {
    for (const text of [result.output, result.stdout, result.stderr]) {
      if (text) await capture.write('output', Buffer.from(text))
    }
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
interface Loss {
  captured: Captured
  /** Its processes are alive. */
  running: boolean
  /** What the stop of the job has told, where it has just been stopped. */
  stopped: StopReport | null
}

/** The result of a job whose holder is gone. */
function lostResult(record: JobRecord, { captured, running, stopped }: Loss): Result {
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
