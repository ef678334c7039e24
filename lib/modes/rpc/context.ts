import type { Executor } from '../../executor/executor.ts'
import type { Streams } from '../streams.ts'

/** What the RPC door works with. */
export interface RpcContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  version: string
  cwd: string
  /** Takes the tools that the client's model has: the guard may suggest them. */
  learnToolNames(names: readonly string[]): void
}
