import type { AgentSettings } from '../agent/session.ts'
import type { Executor } from '../executor/executor.ts'
import type { SandboxMode } from '../protocol/request/request.ts'
import type { Streams } from '../doors/streams.ts'

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
  /** What a model works with here; its `model` is what is configured. */
  agentSettings: AgentSettings
  /** What is configured; a person may choose another. */
  sandbox: SandboxMode
  /** What is called before the process ends by a fault: the terminal is to be as it was. */
  onCrash(restore: () => void): void
}
