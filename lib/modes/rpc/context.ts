import type { Executor } from '../../executor/executor.ts'
import type { ArtifactReader } from '../../protocol/artifacts.ts'
import type { Streams } from '../streams.ts'

/** What the RPC door works with. */
export interface RpcContext {
  executor: Executor
  /** Null where nothing is kept. */
  artifacts: ArtifactReader | null
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  version: string
  cwd: string
}
