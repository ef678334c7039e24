import type { ListenerAnswer } from '../protocol/result/event.ts'
import {
  type AllMethods,
  type AllNotifications,
  type MethodName,
  type RequestId,
  privateMethods,
  rpcMethods,
} from '../protocol/rpc/methods.ts'
import { check } from '../protocol/shape/check.ts'
import type { Infer, Shape } from '../protocol/shape/shape.ts'
import { toWire } from '../protocol/wire.ts'

/** One request under way, as its method sees it. */
export interface WireCall {
  /** The id of its message; null for a notification. */
  readonly id: RequestId
  /** Aborts when the request is cancelled or the connection ends. */
  readonly signal: AbortSignal
  /**
   * Cancels a request of the same connection; with `interrupt` as Ctrl-C does. False: there is none of
   * this id.
   */
  cancel(id: RequestId, how: { interrupt: boolean }): boolean
  /** Tells the other side something; a promise says to wait, `closed` that it is gone. */
  notify<Name extends keyof AllNotifications>(
    method: Name,
    params: AllNotifications[Name],
  ): ListenerAnswer | Promise<ListenerAnswer>
}

type Shapes = typeof rpcMethods & typeof privateMethods
type AnyMethod = keyof AllMethods
/** The checked parameters of a method, in the names of the code. */
export type ParamsOf<Name extends AnyMethod> = Infer<Shapes[Name]['params']>
/** What a method answers, in the names of the code. */
export type AnswerOf<Name extends AnyMethod> = Infer<Shapes[Name]['result']>

/**
 * What a method does; `protocol/rpc/methods.ts` says what it takes and answers. `Call` is what it needs
 * to know of a request. Misuse is thrown.
 */
export type Handler<Name extends AnyMethod, Call extends WireCall> = (
  params: ParamsOf<Name>,
  call: Call,
) => AnswerOf<Name> | Promise<AnswerOf<Name>>

export type Handlers<Call extends WireCall, Names extends AnyMethod = MethodName> = {
  readonly [Name in Names]: Handler<Name, Call>
}

/** Every method's shapes, each with the types that its handler has. */
type MethodShapes = { readonly [Name in AnyMethod]: { readonly params: Shape<ParamsOf<Name>> } }
const shapes: MethodShapes = { ...rpcMethods, ...privateMethods }

/** A method as it is called over the wire. Rejects with `MisuseError`, or with a fault of nacre's. */
export type Method<Call extends WireCall> = (given: unknown, call: Call) => Promise<unknown>

/** What a server can do, by the names of the methods. */
export function bindMethods<Call extends WireCall, Names extends AnyMethod>(
  handlers: Handlers<Call, Names>,
): ReadonlyMap<string, Method<Call>> {
  // The parameter ties the shape of a method to its handler.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  function bind<Name extends Names>(name: Name): Method<Call> {
    const { params } = shapes[name]
    const handle: Handler<Name, Call> = handlers[name]
    return async (given, call) =>
      toWire(
        await handle(check(params, given === undefined ? {} : given, '', { names: 'wire' }), call),
      )
  }
  return new Map((Object.keys(handlers) as Names[]).map((name) => [name, bind(name)]))
}

/** Cancels any request of the connection by the id of its message. */
export const cancelHandler: Handler<'$/cancel', WireCall> = ({ id, interrupt = false }, call) => ({
  cancelled: call.cancel(id, { interrupt }),
})
