import { type Capture, createCapture } from '../../output/capture.ts'
import { describeFailures } from '../../protocol/array.ts'
import type { Runner } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Result, TaskSummary } from '../../protocol/result/result.ts'
import { openArrayScheduler } from '../../run/host/clients.ts'
import { nowMs } from '../../system/clock.ts'
import { endedResult } from '../results.ts'
import { describeTask } from './array-runner.ts'
import {
  cancelPatienceMs,
  cancelRound,
  describeLeftRound,
  followRound,
  lookAtRound,
  type ScheduledRound,
} from './scheduled.ts'
import { findArray } from './store.ts'
import { createTally } from './tally.ts'

/** An array whose nacre is gone: what its folder tells, and the scheduler that may still run it. */
export interface LostArray {
  /** Records the tasks that have ended since the last look. True: some tasks still run. */
  refresh(): Promise<boolean>
  summarize(): TaskSummary
  /** What its tasks wrote, those that ended first at the beginning. */
  recapture(capture: Capture): Promise<void>
  /** Stops its tasks and records how they ended. Gives notices. */
  cancel(): Promise<string[]>
}

/** Null where the job of this id is no array. */
export function openLostArray(dir: string, id: string): LostArray | null {
  const store = findArray(dir, id)
  if (store === null) return null
  const { record, folder } = store
  const { request, name, place } = record
  const tally = createTally(request.array?.tasks ?? [])
  for (const end of store.readEnds()) tally.add(end)
  const round = record.rounds.at(-1)
  const scheduler = place && openArrayScheduler(place)

  const taken = new Set(round?.tasks.filter((task) => tally.has(task)))
  let isCancelled = false

  async function take(task: number, replay: Runner): Promise<void> {
    const result = await settleTask(describeTask(request, task, request.host), replay)
    if (isCancelled && result.status === 'not_started') return
    const end = { task, tries: record.rounds.length, result }
    tally.add(end)
    store?.append(end)
  }

  const scheduled: ScheduledRound | null =
    !scheduler || !round
      ? null
      : {
          scheduler,
          round,
          folder,
          name,
          taken,
          take,
          onRunning: (tasks) => tally.setRunning(tasks),
        }

  return {
    refresh: async () => scheduled !== null && (await lookAtRound(scheduled)) !== 0,
    summarize: () => tally.summarize(),
    async recapture(capture) {
      for (const { result } of store.readEnds()) {
        for (const text of [result.output, result.stdout, result.stderr]) {
          if (text) await capture.write('output', Buffer.from(text))
        }
      }
    },
    async cancel() {
      isCancelled = true
      if (scheduled === null) return []
      await cancelRound(scheduled, request)
      const giveUpAtMs = nowMs() + cancelPatienceMs
      const isWhole = await followRound(scheduled, () => nowMs() > giveUpAtMs)
      return isWhole ? [] : [describeLeftRound(scheduled.round)]
    },
  }
}

/** The result of a task whose executor is gone: it holds all of the output that is kept. */
async function settleTask(request: Request, replay: Runner): Promise<Result> {
  const startedAtMs = nowMs()
  const capture = createCapture({
    runId: request.id,
    command: request.command,
    request: { ...request, artifact: 'never' },
    store: null,
  })
  const running = await replay(request, {
    write: (stream, bytes) => capture.write(stream, bytes),
  })
  const exit = await running.exited
  const captured = await capture.finish()
  const durationMs = nowMs() - startedAtMs
  const progress = { captured, durationMs, notices: [], sandbox: null, tasks: null }
  return endedResult(request, progress, exit, null)
}

/** The result of the array, from that of a run whose nacre is gone. */
export function describeLostArray(
  result: Result,
  tasks: TaskSummary,
  told: readonly string[],
): Result {
  const left = tasks.waiting + tasks.running
  if (left === 0) {
    return {
      ...result,
      status: 'exited',
      exitCode: tasks.failed === 0 ? 0 : 1,
      exitMeaning: describeFailures(tasks),
      reason: null,
      error: null,
      notices: [],
      tasks,
    }
  }
  const count = `${left} of ${tasks.total} tasks`
  const notice =
    result.status === 'running'
      ? `The nacre that held it is gone; ${count} go on without it`
      : `The nacre that held it is gone; ${count} have no result: nacre job resume ${result.id} runs them`
  return {
    ...result,
    error: result.error && { ...result.error, message: notice },
    notices: [notice, ...told],
    tasks,
  }
}
