import type { Exit } from '../../../protocol/ports.ts'
import { nameSignal } from '../../../system/process/process-table.ts'
import { describeCode } from '../follower.ts'

/** A job of Slurm, or a task of an array, as squeue(1) tells it. */
export interface SlurmJob {
  /** `12`, or `12_7` of a task. */
  id: string
  /** `COMPLETED`, `NODE_FAIL`, …: squeue(1), job state codes. */
  state: string
  /** As wait(2) has it. */
  waitStatus: number
  reason: string
  nodes: string
  timeLimit: string
}

/** The columns of squeue that `readJobs` reads. */
export const jobColumns =
  'JobArrayID:80|,State:20|,exit_code:12|,Reason:60|,NodeList:200|,TimeLimit:40'

export function readJobs(text: string): SlurmJob[] {
  return text
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length >= 6)
    .map(([id = '', state = '', status = '', reason = '', nodes = '', timeLimit = '']) => ({
      id,
      state,
      waitStatus: Number(status),
      reason,
      nodes,
      timeLimit,
    }))
}

const waiting: ReadonlySet<string> = new Set(['PENDING', 'CONFIGURING', 'REQUEUED', 'REQUEUE_HOLD'])
const ended: ReadonlySet<string> = new Set([
  ...['COMPLETED', 'FAILED', 'TIMEOUT', 'DEADLINE', 'OUT_OF_MEMORY', 'NODE_FAIL', 'BOOT_FAIL'],
  ...['CANCELLED', 'PREEMPTED', 'REVOKED', 'SPECIAL_EXIT', 'LAUNCH_FAILED'],
])

export const isWaiting = ({ state }: SlurmJob): boolean => waiting.has(state)
/** Also one that is `COMPLETING` is not over: what it ran is being ended. */
export const hasEnded = ({ state }: SlurmJob): boolean => ended.has(state)

/** What was heard of a command, by the frames of its script. */
interface HeardEnd {
  code: number | null
  signal: string | null
  lastWords: string
}

/** What slurmstepd(8) and srun(1) say between the command's own words. */
const outOfMemory =
  /^(?:slurmstepd|srun)\S*: .*(?:exceeded (?:step |job )?memory limit|oom.kill|out of memory)/im

/** How a job has ended that nacre did not end. Null: Slurm does not know better than what was heard. */
export function describeJobEnd(job: SlurmJob, heard: HeardEnd): Exit | null {
  const { state, nodes, timeLimit, id } = job
  const where = `Slurm job ${id}${nodes === '' ? '' : ` on ${nodes}`}`
  const signal = nameSignal(job.waitStatus & 0x7f) ?? heard.signal ?? 'SIGKILL'
  const stopped = (reason: NonNullable<Exit['stoppedBy']>, notice: string): Exit => ({
    code: null,
    signal,
    stoppedBy: reason,
    notices: [notice],
  })
  switch (state) {
    case 'TIMEOUT':
    case 'DEADLINE':
      return stopped('timeout', `${where} reached its time limit (${timeLimit})`)
    case 'OUT_OF_MEMORY':
      return stopped('out_of_memory', `${where} used more memory than it may`)
    case 'PREEMPTED':
      return stopped('preempted', `${where} had to make room for another job (preemption)`)
    case 'CANCELLED':
      return stopped('kill', `${where} was cancelled in Slurm, not by nacre`)
    case 'NODE_FAIL':
    case 'BOOT_FAIL':
      return { code: null, signal: null, lost: `${where} was lost: the node failed (${state})` }
  }
  if (outOfMemory.test(heard.lastWords)) {
    return stopped('out_of_memory', `${where} used more memory than it may`)
  }
  if (heard.code !== null || job.waitStatus === 0) return null
  // Its script was ended too, so that only Slurm can tell.
  return describeCode(job.waitStatus >> 8, nameSignal(job.waitStatus & 0x7f))
}

/** The end of a job that was cancelled while it waited. */
export function neverBegan(): Exit {
  const message = 'The job never began: it still waited in the queue of Slurm'
  return { code: null, signal: null, notStarted: { code: 'never_started', message } }
}
