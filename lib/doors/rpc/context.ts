import type { AgentSettings } from '../../agent/settings.ts'
import type { Approve, Executor } from '../../executor/executor.ts'
import type { Reach } from '../../executor/reach.ts'
import type { JobCall } from '../../executor/jobs/methods.ts'
import type { MethodName } from '../../protocol/rpc/methods.ts'
import type { Handler as WireHandler, Handlers as WireHandlers } from '../../wire/method.ts'
import type { Streams } from '../streams.ts'
import type { Prompts } from './prompts.ts'

/** What the RPC door works with. */
export interface RpcContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  version: string
  cwd: string
  /** What a model works with here. */
  agentSettings: () => AgentSettings
  /** In which dialect a line is answered that is no message, before the first one that is. */
  firstDialect: 'json-rpc' | 'pi'
  /** Takes the tools that the client's model has: the guard may suggest them. */
  learnToolNames(names: readonly string[]): void
}

/** One request under way. */
export interface Call extends JobCall {
  readonly context: RpcContext
  /** Absent where the client cannot be asked. */
  readonly approve: Approve | undefined
  readonly client: ClientState
}

/** What the connection knows of its client. */
export interface ClientState {
  supportsApproval: boolean
  /** What the client's own model reaches by `tool.call`. */
  readonly reach: Reach
  /** Runs and artifacts of the client's own commands, which it may tell its model of. */
  readonly handed: Set<string>
  /** Conversations with a model. */
  readonly prompts: Prompts
  /** Commands under way that came as prompts. */
  readonly commands: Set<AbortController>
}

/** A method of this door, and some of them. */
export type Handler<Name extends MethodName> = WireHandler<Name, Call>
export type Handlers = WireHandlers<Call>
