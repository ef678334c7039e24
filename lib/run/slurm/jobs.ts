import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '../../protocol/limits.ts'
import type { Exit, StopReport } from '../../protocol/ports.ts'
import { nowMs } from '../../system/clock.ts'
import { nameSignal } from '../../system/process/process-table.ts'
import { callProgram, type ClientEnvironment, findClient, lastLine } from '../host/client.ts'
import { describeCode } from '../host/follower.ts'
import type { Heard } from '../host/frames.ts'

/** What a program of Slurm has said. */
interface SlurmAnswer {
  ok: boolean
  stdout: string
  /** Its last line, where it failed. */
  failure: string
}

/** Slurm's programs retry for longer than anybody waits if the controller does not answer. */
const answerMs = 20_000

/** Runs one of them to its end. `input` is its standard input. Rejects with `StartError` if it is missing. */
export async function callSlurm(
  environment: ClientEnvironment,
  [name = '', ...args]: readonly string[],
  input = '',
): Promise<SlurmAnswer> {
  const call = { file: findClient(name, environment), args }
  const how = { mostMs: answerMs, input, env: environment }
  const { code, stdout, stderr } = await callProgram(call, how)
  return { ok: code === 0, stdout, failure: lastLine(stderr) || `${name} gave no answer` }
}

/** A job of Slurm, or a task of an array, as squeue(1) describes it. */
export interface SlurmJob {
  /** `12`, or `12_7` of a task. */
  id: string
  /** `COMPLETED`, `NODE_FAIL`, …: squeue(1), job state codes. */
  state: string
  /** As wait(2) has it. */
  waitStatus: number
  nodes: string
  timeLimit: string
}

const columns = 'JobArrayID:80|,State:20|,exit_code:12|,NodeList:200|,TimeLimit:40'

/** Jobs of one name, or the job of one id with all its tasks. */
type Jobs = { name: string } | { id: string }

/**
 * Jobs as Slurm knows them now, for a few minutes after their end too (MinJobAge, slurm.conf(5)). Null
 * if it does not answer.
 */
export async function listJobs(
  environment: ClientEnvironment,
  which: Jobs,
): Promise<SlurmJob[] | null> {
  const chosen = 'name' in which ? `--name=${which.name}` : `--jobs=${which.id}`
  const words = ['--noheader', '--states=all', '--array', chosen, `--Format=${columns}`]
  const answer = await callSlurm(environment, ['squeue', ...words])
  // It has forgotten the job.
  if (!answer.ok) return /Invalid job id/.test(answer.failure) ? [] : null
  return answer.stdout
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length >= 5)
    .map(([id = '', state = '', status = '', nodes = '', timeLimit = '']) => ({
      ...{ id, state, nodes, timeLimit },
      waitStatus: Number(status),
    }))
}

const waiting: ReadonlySet<string> = new Set(['PENDING', 'CONFIGURING', 'REQUEUED', 'REQUEUE_HOLD'])
const ended: ReadonlySet<string> = new Set([
  ...['COMPLETED', 'FAILED', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL'],
  ...['CANCELLED', 'PREEMPTED', 'REVOKED', 'SPECIAL_EXIT', 'LAUNCH_FAILED'],
])

export const isWaiting = ({ state }: SlurmJob): boolean => waiting.has(state)
/** A job that is `COMPLETING` has not ended: what it ran is being stopped. */
export const hasEnded = ({ state }: SlurmJob): boolean => ended.has(state)

/** How often, and for how long at most, Slurm is asked for the end of a job that should have one. */
export const lookEveryMs = 100
export const patienceMs = 8000

/**
 * Ends jobs, whether they run or wait. Their scripts have so long to end them by themselves. Settles when nothing of
 * them runs any more, or Slurm does not report that.
 */
export async function cancelJobs(
  environment: ClientEnvironment,
  which: Jobs,
  graceMs: number,
): Promise<StopReport> {
  const word = 'name' in which ? `--jobname=${which.name}` : which.id
  const leave = (why: string): StopReport => ({
    survivors: [],
    notices: [`A job of Slurm may still run (${why}); to end it: scancel ${word}`],
  })
  const answer = await callSlurm(environment, ['scancel', word])
  if (!answer.ok) return leave(answer.failure)
  const killAtMs = nowMs() + graceMs + limits.killGraceMs
  let killed = false
  for (;;) {
    const jobs = await listJobs(environment, which)
    if (jobs?.every((job) => hasEnded(job))) return { survivors: [] }
    if (nowMs() > killAtMs + patienceMs) return leave('it has not ended')
    if (!killed && nowMs() > killAtMs) {
      // Slurm itself waits for KillWait (30 s, slurm.conf(5)).
      killed = true
      await callSlurm(environment, ['scancel', '--signal=KILL', '--full', word])
    }
    await delay(lookEveryMs)
  }
}

/** What slurmstepd(8) and srun(1) say between the command's own words. */
const outOfMemory =
  /^(?:slurmstepd|srun)\S*: .*(?:exceeded (?:step |job )?memory limit|oom.kill|out of memory)/im

/** How a job has ended that nacre did not end. Null: Slurm does not know better than what was heard. */
export function describeJobEnd(
  job: SlurmJob,
  { begun, code, signal: heardSignal, lastWords = '' }: Heard,
): Exit | null {
  const { state, nodes, timeLimit, id } = job
  if (!begun && state === 'CANCELLED') return neverBegan
  // Slurm has refused it; the words of srun say why.
  if (!begun && state === 'FAILED') return null
  const where = `Slurm job ${id}${nodes === '' ? '' : ` on ${nodes}`}`
  const signal = nameSignal(job.waitStatus & 0x7f) ?? heardSignal ?? 'SIGKILL'
  const stopped = (reason: NonNullable<Exit['stoppedBy']>, notice: string): Exit => ({
    code: null,
    signal,
    stoppedBy: reason,
    notices: [`${where} ${notice}`],
  })
  switch (state) {
    case 'TIMEOUT':
    case 'DEADLINE':
      return stopped('timeout', `reached its time limit (${timeLimit})`)
    case 'OUT_OF_MEMORY':
      return stopped('out_of_memory', 'used more memory than it may')
    case 'PREEMPTED':
      return stopped('preempted', 'had to make room for another job (preemption)')
    case 'CANCELLED':
      return stopped('kill', 'was cancelled in Slurm, not by nacre')
    case 'NODE_FAIL':
    case 'BOOT_FAIL':
      return { code: null, signal: null, lost: `${where} was lost: the node failed (${state})` }
  }
  if (outOfMemory.test(lastWords)) {
    return stopped('out_of_memory', 'used more memory than it may')
  }
  if (code !== undefined || job.waitStatus === 0) return null
  // Its script was ended too, so that only Slurm can tell.
  return describeCode(job.waitStatus >> 8, nameSignal(job.waitStatus & 0x7f))
}

/** The end of a job that was cancelled while it waited. */
const neverBegan: Exit = {
  code: null,
  signal: null,
  notStarted: {
    code: 'never_started',
    message: 'The job never began: it still waited in the queue of Slurm',
  },
}
