import { MisuseError } from './errors.ts'
import { limits } from './limits.ts'
import type { Result, taskCounts, taskEnd, TaskSummary } from './result/result.ts'
import type { InferFields } from './shape/shape.ts'

/** One request run many times: each time is a task with a number of its own. */
export interface ArrayRequest {
  readonly tasks: readonly number[]
  /** What each of the tasks runs, in their order; null: all run the command of the request. */
  readonly commands: readonly string[] | null
  /** How many tasks run at once on each host; null: as many as is usual there. */
  readonly atOnce: number | null
  /** How often a task that did not succeed is tried again. */
  readonly retries: number
}

const part = /^(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?$/

/** Reads `500` (1 to 500), `1-500`, `1-99:2`, `3,7,10-20`. Throws `MisuseError`. */
export function parseTasks(text: string): number[] {
  const parts = text.split(',')
  const [only] = parts
  if (parts.length === 1 && only !== undefined && /^\d{1,9}$/.test(only)) {
    return listNumbers(text, 1, Number(only), 1)
  }
  const tasks = new Set<number>()
  for (const word of parts) {
    const [, from, to = from, step = '1'] = part.exec(word) ?? []
    if (from === undefined) throw wrongTasks(text)
    for (const task of listNumbers(text, Number(from), Number(to), Number(step))) tasks.add(task)
    if (tasks.size > limits.arrayTasks) throw wrongTasks(text)
  }
  return [...tasks].sort((one, other) => one - other)
}

function listNumbers(text: string, from: number, to: number, step: number): number[] {
  const count = Math.floor((to - from) / step) + 1
  if (step < 1 || count < 1 || count > limits.arrayTasks) throw wrongTasks(text)
  return Array.from({ length: count }, (_, index) => from + index * step)
}

function wrongTasks(text: string): MisuseError {
  const wanted = `a number of tasks or their numbers (500, 1-500, 1-99:2, 3,7,10-20), at most ${limits.arrayTasks}`
  return new MisuseError('invalid_field', `\`array\` must be ${wanted}, not "${text}"`, 'array')
}

/** Numbers as `parseTasks` reads them, in few words. */
export function joinTasks(tasks: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const task of tasks) {
    const last = ranges.at(-1)
    if (last && last[1] === task - 1) last[1] = task
    else ranges.push([task, task])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

export interface TaskEnd extends InferFields<typeof taskEnd> {}
export interface TaskCounts extends InferFields<typeof taskCounts> {}

export const hasSucceeded = ({ status, exitCode }: Pick<Result, 'status' | 'exitCode'>): boolean =>
  status === 'exited' && exitCode === 0

/** What the exit status of an array means; null where every task succeeded. */
export function describeFailures({ failed, total }: TaskSummary): string | null {
  return failed === 0 ? null : `${failed} of ${total} tasks failed`
}

type End = Pick<Result, 'status' | 'exitCode' | 'signal' | 'reason'>

/** `exit 3`, `SIGKILL`, `timeout`, `lost`. */
export function nameEnd({ status, exitCode, signal, reason }: End): string {
  switch (status) {
    case 'exited':
      return `exit ${exitCode}`
    case 'signaled':
      return signal ?? status
    case 'stopped':
      return reason ?? status
    default:
      return status.replace('_', ' ')
  }
}
