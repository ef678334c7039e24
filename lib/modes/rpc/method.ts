import type { RunOptions } from '../../executor/executor.ts'
import { createParamCheck, type Params } from '../../protocol/params.ts'
import type { RequestId, RpcNotifications } from '../../protocol/rpc-messages.ts'
import type { ListenerAnswer } from '../../protocol/event.ts'
import type { RpcContext } from './context.ts'

/** One request under way. */
export interface Call {
  context: RpcContext
  /** Of its message; null of a notification. */
  id: RequestId
  /** Aborts when the request is cancelled or the connection ends. */
  readonly signal: AbortSignal
  /** Absent where the client cannot be asked. */
  readonly approve: RunOptions['approve']
  /** What is kept for the whole connection. */
  peer: Peer
  /** Tells the client something; a promise says to wait, `closed` that it is gone. */
  notify<Name extends keyof RpcNotifications>(
    method: Name,
    params: RpcNotifications[Name],
  ): ListenerAnswer | Promise<ListenerAnswer>
}

/** What the connection knows of its client. */
export interface Peer {
  supportsApproval: boolean
  /** Lets the caller of a run go, by the id of the run. */
  readonly detachable: Map<string, () => void>
  /** Cancels a request by the id of its message. False: there is none. */
  cancel(id: RequestId): boolean
  /** Prompts under way. */
  readonly prompts: Set<AbortController>
}

export interface Method {
  readonly params: Params
  /** Parameters as they came. Rejects or throws `MisuseError`. */
  call(given: unknown, call: Call): unknown
}

/**
 * A method whose parameters are checked by their table before it is called. The type that `handle`
 * gives its parameters is what the table lets through.
 */
export function defineMethod(
  params: Params,
  handle: (params: never, call: Call) => unknown,
): Method {
  const check = createParamCheck(params)
  return { params, call: (given, call) => handle(check(given) as never, call) }
}

export const noParams: Params = {}
