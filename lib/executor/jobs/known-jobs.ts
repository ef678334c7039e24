import { createReadStream } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { StopReport } from '../../protocol/ports.ts'
import { idPattern, fromWire, toWire } from '../../protocol/wire.ts'
import type { JobEntry, JobOutput, Reading } from '../../protocol/result/reading.ts'
import type { AllMethods, MethodName, RpcMethods } from '../../protocol/rpc/methods.ts'
import type { Result, StopReason, Survivor } from '../../protocol/result/result.ts'
import { type AnyNotification, askOnce, ConnectionLost } from '../../wire/client.ts'
import { openControlGroup, removeLeftGroups } from '../../system/process/control-group.ts'
import { removeLeftFolders } from '../../system/temporary-folder.ts'
import { isAlive, type ProcessEntry } from '../../system/process/process-table.ts'
import { nowMs, pause } from '../../system/clock.ts'
import { createTreeSearch, stopTree, type TreeRoot } from '../../run/stop.ts'
import { type Capture, type Captured, createCapture } from '../../output/capture.ts'
import { readKept } from '../../output/bounds.ts'
import { beginResult } from '../results.ts'
import { describeLostArray, findLedger, type TaskLedger } from '../task-ledger.ts'
import type { TaskEnd } from '../../protocol/array.ts'
import { type Follower, type JobWait, notFound } from './port.ts'
import { describeOrphan, endOrphan, findOrphans, rootFrom } from './orphans.ts'
import { callTaker, type Taker } from './take-up.ts'
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

/** The jobs of every nacre of this user, as their records, their holders and the process table tell. */
export interface KnownJobs {
  /** The whole id that is meant. Throws `MisuseError` where that is none, or more than one. */
  resolve(given: string): string
  /** By its whole id: the conversation or connection of a model that it belongs to; else null. */
  ownerOf(id: string): string | null
  list(which: { runningOnly: boolean }): Promise<JobEntry[]>
  /** The files of records that make no sense. */
  listDamaged(): string[]
  show(id: string): Promise<Result>
  read(id: string, reading: Reading): Promise<JobOutput>
  /** The tasks of an array that have ended. */
  tasks(id: string): Promise<TaskEnd[]>
  wait(id: string, wait: JobWait & { timeoutSeconds: number }): Promise<Result>
  follow(id: string, follower: Follower, signal: AbortSignal): Promise<Result>
  /** Has it go on where its nacre was killed; gives how it stands. */
  resume(id: string): Promise<Result>
  write(id: string, data: string, end: boolean): Promise<void>
  resize(id: string, columns: number, rows: number): Promise<void>
  kill(id: string, reason: StopReason): Promise<Result>
}

/** How often a job that nobody holds is looked at while somebody waits for it. */
const lookEveryMs = 200

/** How long a list waits for a job's other machine; who takes the job up goes on with it. */
const listPatienceMs = 2000

/** `dir` is the folder of the jobs. */
export function openKnownJobs(dir: string, taker: Taker | null): KnownJobs {
  /** Why jobs on other machines were not taken up. */
  const troubles = new Map<string, string>()

  function resolve(given: string): string {
    const begin = given.startsWith('run_') ? given : `run_${given}`
    const matching = (ids: string[]) => ids.filter((id) => id.startsWith(begin))
    const recorded = matching([...listIds(dir, 'alive'), ...listIds(dir, 'ended')])
    // The whole process table is looked through only for what has no record.
    const ids = recorded.length > 0 ? recorded : matching(findOrphans(dir).map(({ id }) => id))
    const [id] = ids.includes(begin) ? [begin] : ids
    if (id === undefined || given === '') throw notFound(given)
    if (ids.length > 1 && id !== begin) {
      const message = `${ids.length} jobs begin with \`${given}\`; give more of the id`
      throw new MisuseError('ambiguous', message, 'job_id')
    }
    return id
  }

  function findRecord(id: string): JobRecord {
    const record = readRecord(dir, id)
    if (record) return record
    if (!findOrphans(dir).some((orphan) => orphan.id === id)) throw describeUnknown(id)
    const message = `Of job \`${id}\` only its processes are known; it can be killed`
    throw new MisuseError('no_record', message, 'job_id')
  }

  /** A job that has neither a record which can be read nor a process. */
  function describeUnknown(id: string): MisuseError {
    const path = findRecordFile(dir, id)
    if (path === null) return notFound(id)
    const message = `The record of job \`${id}\` is damaged; remove it: ${path}`
    return new MisuseError('damaged_record', message, 'job_id')
  }

  /** Asks the process that holds the job; where that is gone, `otherwise` answers from the files. */
  async function ask<Name extends MethodName, Answer>(
    given: JobRecord,
    [method, params, options = {}]: Question<Name>,
    otherwise: (record: JobRecord) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const record = await takeUp(given)
    if (record.endedAt === null && record.socket !== null && isAlive(record.owner)) {
      try {
        return fromWire(await askOnce(connect(record.socket), method, params, options)) as Answer
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
    }
    // The owner may have written the end since.
    return otherwise(await settle(readRecord(dir, record.id) ?? record))
  }

  /** A job that goes on at another machine though its nacre was killed is held by a new one from now on. */
  async function takeUp(record: JobRecord, withinMs?: number): Promise<JobRecord> {
    const { id, kept, owner, endedAt } = record
    if (kept === null || endedAt !== null || isAlive(owner)) return record
    const trouble =
      taker === null ? 'nobody has taken it up yet' : await callTaker(taker, id, withinMs)
    if (trouble === null) return readRecord(dir, id) ?? record
    troubles.set(id, `It goes on at ${kept.request.host} or has ended there: ${trouble}`)
    return record
  }

  /** Writes down the end of a job whose owner could not; gives the record as it is then. */
  async function settle(record: JobRecord): Promise<JobRecord> {
    if (record.endedAt !== null || isAlive(record.owner) || record.kept) return record
    if (findLedger(dir, record.id) === null && findProcesses(record).length > 0) return record
    return finish(record, null)
  }

  async function finish(record: JobRecord, stopped: StopReport | null) {
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
    const array = findLedger(dir, record.id)
    return (
      readText(record, reading) ?? { ...(await recapture(record, array)).read(reading), status }
    )
  }

  /** From the text that an ended job has left on disk; null where there is none. */
  function readText(record: JobRecord, reading: Reading): JobOutput | null {
    if (record.result === null) return null
    const texts = readKeptTexts(dir, record)
    return texts && { ...readKept(texts, reading), status: record.result.status }
  }

  async function waitForLost(
    record: JobRecord,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Result> {
    const deadline = nowMs() + timeoutMs
    let current = record
    while (current.endedAt === null && nowMs() < deadline && !signal?.aborted) {
      const pauseMs = Math.min(lookEveryMs, Math.max(1, deadline - nowMs()))
      await pause(pauseMs, signal)
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

  const show = (id: string) => ask(findRecord(id), ['shell.status', { id }], resultOf)

  return {
    resolve,
    ownerOf: (id) => (idPattern.test(id) ? (readRecord(dir, id)?.belongsTo ?? null) : null),
    async list({ runningOnly }) {
      pruneJobs(dir)
      removeLeftFolders(dirname(dir))
      removeLeftGroups()
      const settled: JobRecord[] = []
      const alive = await Promise.all(
        readRecords(dir, 'alive').map((it) => takeUp(it, listPatienceMs)),
      )
      for (const record of alive) settled.push(await settle(record))
      const ids = new Set(settled.map(({ id }) => id))
      const ended = runningOnly ? [] : readRecords(dir, 'ended').filter(({ id }) => !ids.has(id))
      return [
        ...[...settled, ...ended].map(describeRecord),
        ...findOrphans(dir).map(describeOrphan),
      ]
    },

    listDamaged: () => listDamaged(dir),
    show,

    read(id, reading) {
      const params = toWire({ id, ...reading }) as RpcMethods['shell.output']['params']
      return ask(findRecord(id), ['shell.output', params], (record) => readLost(record, reading))
    },

    async resume(id) {
      const record = findRecord(id)
      if (record.endedAt === null && isAlive(record.owner)) return show(id)
      const why = taker === null ? 'no nacre can be started here' : await callTaker(taker, id)
      if (why === null) return show(id)
      throw new MisuseError('not_resumable', why, 'job_id')
    },

    async tasks(id) {
      // A scheduler may have ended tasks that nobody has recorded yet.
      const record = readRecord(dir, id)
      if (record) await takeUp(record)
      const array = findLedger(dir, id)
      if (array) return array.ends()
      throw new MisuseError('no_array', `Job \`${id}\` is no array of tasks`, 'job_id')
    },

    wait(id, { timeoutSeconds, ready, signal }) {
      const params = {
        id,
        timeout_seconds: Math.max(timeoutSeconds, leastWaitSeconds),
        ...(ready === undefined ? {} : { ready }),
      }
      return ask(findRecord(id), ['shell.wait', params, { signal }], (record) =>
        waitForLost(record, timeoutSeconds * 1000, signal),
      )
    },

    follow(id, follower, signal) {
      const onNotification = async ({ method, params }: AnyNotification) => {
        await follower.notify(method, params)
      }
      const question: Question<'shell.attach'> = [
        'shell.attach',
        { id },
        { signal, onNotification },
      ]
      return ask(findRecord(id), question, (record) =>
        waitForLost(record, Number.MAX_SAFE_INTEGER, signal),
      )
    },

    async write(id, data, end) {
      const params = { id, data, ...(end && { end }) }
      await ask(findRecord(id), ['shell.input', params], () => {
        throw new MisuseError('no_input', `Job \`${id}\` takes no input any more`, 'job_id')
      })
    },

    async resize(id, columns, rows) {
      await ask(findRecord(id), ['shell.resize', { id, columns, rows }], () => undefined)
    },

    kill(id, reason) {
      const record = readRecord(dir, id)
      if (record === null) return killOrphan(id)
      const params = { id, reason: reason === 'cancel' || reason === 'timeout' ? reason : 'kill' }
      return ask(record, ['shell.cancel', params as { id: string }], killLost)
    },
  }

  async function killOrphan(id: string): Promise<Result> {
    const orphan = findOrphans(dir).find((it) => it.id === id)
    if (orphan === undefined) throw describeUnknown(id)
    const run = { ...describeOrphan(orphan), id, origin: 'print' as const }
    const stopped = { survivors: await endOrphan(orphan) }
    return lostResult(run, { captured: nothing, running: false, stopped })
  }
}

/** A method, its parameters, and how it is called. */
type Question<Name extends MethodName> = [
  method: Name,
  params: AllMethods[Name]['params'],
  options?: Parameters<typeof askOnce>[3],
]

/** The method `shell.wait` refuses a time of zero, so that a mere look waits this long. */
const leastWaitSeconds = 0.001

/** What is known of the output of a run without a record. */
const nothing = { output: '', truncation: null, artifact: null, notices: [] }

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
  stopped: { survivors: Survivor[] } | null
}

/** The result of a run whose holder is gone. */
type LostRun = Pick<JobRecord, 'id' | 'origin' | 'command' | 'cwd' | 'startedAt' | 'artifact'>

function lostResult(record: LostRun, { captured, running, stopped }: Loss): Result {
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
