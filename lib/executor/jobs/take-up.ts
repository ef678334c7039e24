import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import type { KeptPlace } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { nowMs } from '../../system/clock.ts'
import { identifySelf, isAlive, type ProcessIdentity } from '../../system/process/process-table.ts'
import { copyOutsideRun } from '../../system/process/own-process.ts'
import { startPiped } from '../../system/process/spawn.ts'
import { findLedger } from '../task-ledger.ts'
import type { LiveRun, Run } from '../run.ts'
import { type JobRecord, readOwnFile, readRecord, reopenRecord } from './record.ts'

/** What starts a nacre that takes up a job, whose id is added. */
export interface Taker {
  words: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
}

/** A job of a killed nacre that another one takes up. */
interface LostJob {
  request: Request
  startedAt: string
  /** Where it goes on; null: it is an array of which this nacre runs what is left. */
  place: KeptPlace | null
  /** It is taken up, or will not be. */
  release: () => void
}

/**
 * Takes up a job whose nacre was killed. `launch` starts it again, or finds it where it goes on. Null: another
 * nacre has taken it up, or it has ended. Rejects with `MisuseError`.
 */
export async function takeUpJob(
  dir: string,
  id: string,
  launch: (job: Omit<LostJob, 'release'>) => Promise<LiveRun>,
): Promise<Run | null> {
  const job = await claimJob(dir, id)
  if (job === null) return null
  try {
    const run = await launch({ ...job, request: keepDeadline(job) })
    const { status, error } = run.look()
    if (status === 'not_started') {
      throw new MisuseError(error?.code ?? 'not_resumable', error?.message ?? '', 'job_id')
    }
    run.detach()
    await run.declared
    return run
  } finally {
    job.release()
  }
}

/** A deadline counts from the beginning, whoever holds the run. */
function keepDeadline({ request, startedAt }: LostJob): Request {
  const { timeoutMs } = request
  if (timeoutMs === null || request.array !== null) return request
  const leftMs = timeoutMs - (Date.now() - Date.parse(startedAt))
  return { ...request, timeoutMs: Math.max(1, leftMs) }
}

/** How long another nacre may take to take it up. */
const patienceMs = 30_000

/**
 * Claims a job for this nacre, since two must not take it up. Null: another one has it, or it has ended.
 * Throws `MisuseError` where it cannot go on.
 */
async function claimJob(dir: string, id: string): Promise<LostJob | null> {
  const path = join(dir, `${id}.claim`)
  if (!(await writeClaim(path))) return null
  const release = () => rmSync(path, { force: true })
  try {
    const record = readRecord(dir, id)
    const job = record && describeLost(dir, record)
    if (job === null) {
      release()
      return null
    }
    reopenRecord(dir, id)
    return { ...job, release }
  } catch (error) {
    release()
    throw error
  }
}

/** False where another nacre takes it, or has taken it meanwhile. The claim of a killed one counts for nothing. */
async function writeClaim(path: string): Promise<boolean> {
  const deadline = nowMs() + patienceMs
  let hasWaited = false
  while (nowMs() < deadline) {
    const claim = readOwnFile(path)
    if (claim === null) {
      if (hasWaited) return false
      try {
        writeFileSync(path, JSON.stringify(identifySelf()), { flag: 'wx', mode: 0o600 })
        return true
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      }
    } else if (claim !== '' && !isAlive(JSON.parse(claim) as ProcessIdentity)) {
      rmSync(path, { force: true })
      hasWaited = false
    } else {
      // An empty one is being written.
      hasWaited = true
      await delay(50)
    }
  }
  return false
}

function describeLost(dir: string, record: JobRecord): Omit<LostJob, 'release'> | null {
  const { id, startedAt, kept } = record
  if (record.endedAt === null && isAlive(record.owner)) return null
  if (kept && record.endedAt === null) {
    return { request: kept.request, startedAt, place: kept.place }
  }
  const array = findLedger(dir, id)
  if (array === null) {
    if (record.endedAt !== null) return null
    throw cannotGoOn(id, 'it was a run of this machine, which has ended with its nacre')
  }
  if (array.left().length === 0) return null
  if (array.record.rounds.length > 0) throw cannotGoOn(id, 'its scheduler has ended it')
  return { request: array.record.request, startedAt, place: null }
}

function cannotGoOn(id: string, why: string): MisuseError {
  return new MisuseError('not_resumable', `Job \`${id}\` cannot be resumed: ${why}`, 'job_id')
}

/**
 * Has another process take up a job. Null where that is done; else why it is not. After `withinMs` it is
 * waited for no longer, and goes on alone.
 */
export async function callTaker(
  { words, environment }: Taker,
  id: string,
  withinMs?: number,
): Promise<string | null> {
  const [file = '', ...args] = words
  const taker = await startPiped({
    file,
    args: [...args, id],
    detached: true,
    env: copyOutsideRun(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  taker.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  let timer: NodeJS.Timeout | undefined
  const trouble = await new Promise<string | null>((resolve) => {
    taker.stdout?.once('data', () => resolve(null))
    taker.once('close', (code) => resolve(code === 0 ? null : said.trim()))
    if (withinMs === undefined) return
    timer = setTimeout(() => resolve('its machine has not answered yet'), withinMs)
  })
  clearTimeout(timer)
  taker.stdout?.destroy()
  taker.stderr?.destroy()
  taker.unref()
  return trouble?.replace(/^nacre: /, '') ?? null
}
