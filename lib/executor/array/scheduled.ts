import { setTimeout as delay } from 'node:timers/promises'
import { limits } from '../../protocol/limits.ts'
import type { Runner } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { ArrayScheduler } from '../../run/host/slurm/array.ts'
import { nowMs } from '../../system/clock.ts'
import { waitUntil } from '../../system/wait.ts'
import type { ArrayRound } from './store.ts'
import type { RunningTask } from './tally.ts'

/** How often a scheduler is asked: soon again while tasks end, seldom while nothing happens. */
const lookMs = { first: 100, longest: 2000 }
/** A file that a node has written may be seen here so much later (nfs(5), acregmax). */
const fileLagMs = 5000

/** Some tasks of an array that a scheduler has. */
export interface ScheduledRound {
  scheduler: ArrayScheduler
  round: ArrayRound
  folder: string
  /** The random word that begins each frame which the tasks' scripts write. */
  name: string
  /** The tasks whose end has been taken. */
  taken: Set<number>
  /** Records the end of a task: `replay` passes on what the task wrote and gives how it ended. */
  take(task: number, replay: Runner): Promise<void>
  onRunning(tasks: readonly RunningTask[]): void
}

/**
 * Asks the scheduler once and records the tasks that have ended. Gives how many have not; null where the
 * scheduler gave no answer.
 */
export async function lookAtRound(scheduled: ScheduledRound): Promise<number | null> {
  const { scheduler, round, folder, name, taken } = scheduled
  const states = await scheduler.look(round.jobId)
  if (states === null) return null
  let left = 0
  const running: RunningTask[] = []
  for (const task of round.tasks) {
    if (taken.has(task)) continue
    const state = states.get(task) ?? null
    if (state !== null && state.stands !== 'ended') {
      left++
      if (state.stands === 'runs') running.push({ task, host: state.job.nodes || null })
      continue
    }
    if (state?.job.state === 'COMPLETED') {
      const hasTold = () => scheduler.hasTold(folder, name, task)
      await waitUntil(hasTold, { everyMs: 50, mostMs: fileLagMs })
    }
    taken.add(task)
    await scheduled.take(task, scheduler.replay(folder, name, task, state))
  }
  scheduled.onRunning(running)
  return left
}

/** Follows a round to its end (true), or until it is given up. */
export async function followRound(
  scheduled: ScheduledRound,
  isGivenUp: () => boolean,
): Promise<boolean> {
  let pauseMs = lookMs.first
  for (;;) {
    const before = scheduled.taken.size
    const left = await lookAtRound(scheduled)
    if (left === 0 || isGivenUp()) return left === 0
    const isBusy = scheduled.taken.size > before
    pauseMs = isBusy ? lookMs.first : Math.min(lookMs.longest, pauseMs * 1.5)
    await delay(pauseMs)
  }
}

/** How long the tasks of a round that was cancelled may take to end: a node may be gone, or the scheduler. */
export const cancelPatienceMs = 10_000

/** What is told of a round whose tasks have not ended by then. */
export function describeLeftRound({ jobId }: ArrayRound): string {
  return `The Slurm array ${jobId} may still run, since Slurm has not told its end; to end it: scancel ${jobId}`
}

/** Cancels a round, with KILL where its scripts have not ended it after the grace of its request. */
export async function cancelRound(
  { scheduler, round: { jobId } }: Pick<ScheduledRound, 'scheduler' | 'round'>,
  { killAfterMs }: Request,
): Promise<void> {
  await scheduler.cancel(jobId, false)
  const killAtMs = nowMs() + killAfterMs + limits.killGraceMs
  while (nowMs() < killAtMs) {
    const states = await scheduler.look(jobId)
    if (states && [...states.values()].every(({ stands }) => stands === 'ended')) return
    await delay(lookMs.first)
  }
  await scheduler.cancel(jobId, true)
}
