import type { Result, TaskSummary } from './result.ts'

/** The end of a task, after its last try. */
export interface TaskEnd {
  task: number
  /** 1: it was not tried again. */
  tries: number
  result: Result
}

/** How far an array is. */
export interface TaskCounts {
  ended: number
  failed: number
  total: number
}

export const hasSucceeded = ({ status, exitCode }: Pick<Result, 'status' | 'exitCode'>): boolean =>
  status === 'exited' && exitCode === 0

/** What the exit status of an array means; null where every task succeeded. */
export function describeFailures({ failed, total }: TaskSummary): string | null {
  return failed === 0 ? null : `${failed} of ${total} tasks failed`
}

/** `exit 3`, `SIGKILL`, `timeout`, `lost`. */
export function nameEnd({ status, exitCode, signal, reason }: Result): string {
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
