import type { RunOptions } from '../../executor/executor.ts'
import type { ListenerAnswer } from '../../protocol/event.ts'
import type { MethodName, RequestId, RpcNotifications } from '../../protocol/rpc-messages.ts'
import type { rpcMethods } from '../../protocol/rpc-methods.ts'
import type { Infer, Shape } from '../../protocol/shape/shape.ts'
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

type Shapes = typeof rpcMethods
/** The checked parameters of a method, in the names of the code. */
export type ParamsOf<Name extends MethodName> = Infer<Shapes[Name]['params']>
/** What a method answers, in the names of the code. */
export type AnswerOf<Name extends MethodName> = Infer<Shapes[Name]['result']>

/** What a method does; `protocol/rpc-methods.ts` says what it takes and answers. Misuse is thrown. */
export type Handler<Name extends MethodName> = (
  params: ParamsOf<Name>,
  call: Call,
) => AnswerOf<Name> | Promise<AnswerOf<Name>>

/** Every method's shapes, each with the types that its handler has. */
export type MethodShapes = {
  readonly [Name in MethodName]: { readonly params: Shape<ParamsOf<Name>> }
}

export type Handlers = { readonly [Name in MethodName]: Handler<Name> }
