import type { Matches } from '../protocol/result/reading.ts'
import type { Result, TaskSummary } from '../protocol/result/result.ts'
import type { TextEvent } from '../protocol/result/event.ts'
import { toWire } from '../protocol/wire.ts'

/** Why a run did not end by itself. Its notices are told beside this. */
export function describeTrouble(result: Result): string[] {
  switch (result.status) {
    case 'denied':
      return [result.verdict?.reason ?? 'Denied by the guard']
    case 'not_started':
    case 'lost':
      return [result.error?.message ?? 'The command could not be started']
    case 'stopped':
      return [describeStop(result)]
    default:
      return []
  }
}

/** What a list of jobs or artifacts has left out. */
export function describeDamaged(records: readonly string[]): string[] {
  return records.map((path) => `A damaged record is left out; remove it: ${path}`)
}

/** Why a search of an artifact ended before the artifact does; null where it did not. */
export function describeEarlyEnd({
  timedOut,
  passedOver,
}: Pick<Matches, 'timedOut' | 'passedOver'>): string | null {
  if (!timedOut) return null
  const line = passedOver === undefined ? '' : `: line ${passedOver} took all of it unsearched`
  return `the search ended early, out of time or memory${line}`
}

/** In which line a search may have missed a match; null where it has missed none. */
export function describeParts({ partlySearched }: Pick<Matches, 'partlySearched'>): string | null {
  if (partlySearched === undefined) return null
  return `line ${partlySearched} is longer than 16 MiB: only its beginning was searched`
}

/** How a job stands or ended, line by line. */
export function describeStanding(result: Result): string[] {
  const after = `after ${formatDuration(result.durationMs)}`
  const command = result.command.split('\n')[0] ?? ''
  return [
    `${result.id}: ${describeStatus(result)} ${after}: ${command}`,
    ...(result.error ? [result.error.message] : []),
    ...describeTasks(result),
    ...result.notices,
  ]
}

function describeStatus(result: Result): string {
  switch (result.status) {
    case 'exited':
      return `exit ${result.exitCode}${result.exitMeaning ? ` (${result.exitMeaning})` : ''}`
    case 'signaled':
      return `ended by ${result.signal}`
    case 'running':
      return result.waitingForInput ? 'waiting for input' : 'running'
    case 'stopped':
      return `stopped (${result.reason})`
    default:
      return result.status.replace('_', ' ')
  }
}

/**
 * How to come back to a run that goes on; one without a job id cannot be found by `nacre job`. `pid`: of its
 * first process, where it is known.
 */
export function describeReturn(result: Result, pid: number | null): string[] {
  const { jobId: id } = result
  const process = pid === null ? '' : ` (process ${pid})`
  const outputs = [result.artifact, result.stderrArtifact].flatMap((kept) => kept?.path ?? [])
  return [
    id === null ? `Running${process}` : `Running as job ${id}${process}`,
    ...outputs.map((path) => `Its output: ${path}`),
    ...(id === null
      ? []
      : [
          `Read it: nacre job read ${id}; wait for it: nacre job wait ${id}; stop it: nacre job kill ${id}`,
        ]),
    ...result.notices,
  ]
}

function describeStop(result: Result): string {
  const after = `after ${formatDuration(result.durationMs)}`
  switch (result.reason) {
    case 'timeout':
      return `Timed out: the command may take ${limitOf(result)} and was stopped ${after}`
    case 'inactivity':
      return `Nothing was written for ${limitOf(result)}; the command was stopped ${after}`
    case 'out_of_memory':
      return `It used more memory than it may; the command was stopped ${after}`
    case 'preempted':
      return `Another job came before it; the command was stopped ${after}`
    default:
      return `The command was stopped ${after}`
  }
}

function limitOf({ limitSeconds }: Result): string {
  return limitSeconds === undefined ? 'no longer' : formatDuration(limitSeconds * 1000)
}

/** `234 ms`, `2.1 s`, `3 min 5 s`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** How the tasks of an array stand, line by line; nothing where the run is none. */
export function describeTasks({ tasks, status }: Pick<Result, 'tasks' | 'status'>): string[] {
  if (!tasks) return []
  const { total, succeeded, failed, running, waiting, ends, left, retries, slowest, runningTasks } =
    tasks
  const others = [
    running > 0 ? `${running} running` : '',
    waiting > 0 ? `${waiting} ${status === 'running' ? 'waiting' : 'not run'}` : '',
    retries > 0 ? `${retries} tries more` : '',
  ].filter((text) => text !== '')
  const head = [`${total} tasks: ${succeeded} succeeded`, `${failed} failed`, ...others].join(', ')
  const widths = [
    Math.max(0, ...ends.map(({ end }) => end.length)),
    Math.max(0, ...ends.map(({ count }) => String(count).length)),
  ]
  const rows = ends
    .filter(({ end }) => end !== 'exit 0')
    .map(({ end, count, tasks: numbers }) => {
      const cells = [end.padEnd(widths[0] ?? 0), String(count).padStart(widths[1] ?? 0)]
      return `  ${cells.join('  ')}  ${count === 1 ? 'task' : 'tasks'} ${shorten(numbers)}`
    })
  const now = runningTasks.length === 0 ? [] : [`  running: ${shorten(nameRunning(runningTasks))}`]
  const unended = left === '' || status === 'running' ? [] : [`  without an end: ${shorten(left)}`]
  const slow = slowest
    ? [`slowest: task ${slowest.task}, ${formatDuration(slowest.durationMs)}`]
    : []
  return [head, ...rows, ...now, ...unended, ...slow]
}

function nameRunning(tasks: TaskSummary['runningTasks']): string {
  return tasks
    .map(({ task, durationMs, host }) => {
      const where = host === null ? '' : `, ${host}`
      return `${task} (${formatDuration(durationMs)}${where})`
    })
    .join(', ')
}

const longestList = 200

function shorten(numbers: string): string {
  return numbers.length <= longestList ? numbers : `${numbers.slice(0, longestList)}…`
}

/** A result as one line of JSON, in the names of the wire. */
export function renderJson(result: Result): string {
  return `${JSON.stringify(toWire(result))}\n`
}

/** The last line of a stream of events. */
export function renderResultLine(result: Result): string {
  return `${JSON.stringify({ type: 'result', ...(toWire(result) as object) })}\n`
}

/** An event as a line of JSON; the last line of a run is its result with `type: "result"`. */
export function renderEvent(event: TextEvent): string {
  if (event.type === 'exited') return renderResultLine(event.result)
  return `${JSON.stringify(toWire(event))}\n`
}
