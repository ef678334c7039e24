import type { Executor } from '../../executor/executor.ts'
import type { Streams } from '../streams.ts'

/** What the REPL gets from whoever starts it. */
export interface ReplContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  environment: Readonly<Record<string, string | undefined>>
  /** Where the first command runs. */
  cwd: string
  /** Holds the history and the remembered approvals. */
  stateDir: string
  version: string
  /** What is called before the process ends by a fault: the terminal is to be as it was. */
  onCrash(restore: () => void): void
}
