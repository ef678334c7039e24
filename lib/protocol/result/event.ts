import type { streamNames } from './artifacts.ts'
import type { Result } from './result.ts'
import type { TaskCounts, TaskEnd } from './tasks.ts'

export type StreamName = (typeof streamNames)[number]

/** What happens while a run goes on, in order. */
export type RunEvent =
  | { type: 'started'; id: string; pid: number | null; command: string }
  | {
      type: 'output'
      id: string
      /** `output` with merged streams. */
      stream: StreamName
      /** As the command wrote them. The memory is used again once the listener's promise settles. */
      bytes: Uint8Array
    }
  | { type: 'notice'; id: string; message: string }
  /** Of an array: a task has ended, after its last try. */
  | ({ type: 'task'; id: string } & TaskEnd & TaskCounts)
  /** The last one, of every run, also of one that was denied or did not start. */
  | { type: 'exited'; id: string; result: Result }

/**
 * Listens to a run. A returned promise pauses the command (back-pressure).
 * The answer `closed` to output means that nobody reads this stream any more: nacre closes its end,
 * and the command meets a closed pipe as it would under any shell.
 */
export type RunListener = (event: RunEvent) => ListenerAnswer | Promise<ListenerAnswer>
export type ListenerAnswer = 'closed' | void
