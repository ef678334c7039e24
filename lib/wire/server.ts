import { interruption } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { Verdict } from '../protocol/rules.ts'
import {
  type AllMethods,
  maxLineBytes,
  type MethodName,
  privateMethods,
  type RequestId,
  type RpcErrorObject,
  rpcMethods,
} from '../protocol/rpc/methods.ts'
import { check } from '../protocol/shape/check.ts'
import { type Infer, isObject, type Shape } from '../protocol/shape/shape.ts'
import { toWire, unknownName } from '../protocol/wire.ts'
import type { Connection } from './connection.ts'
import { errorCodes, type Notifier, toErrorObject } from './messages.ts'

/** One request under way, as its method sees it. */
export interface WireCall extends Notifier {
  /** Aborts when the request is cancelled or the connection ends. */
  readonly signal: AbortSignal
  /**
   * Cancels a request of the same connection; with `interrupt` as Ctrl-C does. False: there is none of
   * this id.
   */
  cancel(id: RequestId, how: { interrupt: boolean }): boolean
}

type Shapes = typeof rpcMethods & typeof privateMethods
type AnyMethod = keyof AllMethods
/** The checked parameters of a method, in the names of the code. */
type ParamsOf<Name extends AnyMethod> = Infer<Shapes[Name]['params']>
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
    return async (given = {}, call) =>
      toWire(await handle(check(params, given, '', { names: 'wire' }), call))
  }
  return new Map((Object.keys(handlers) as Names[]).map((name) => [name, bind(name)]))
}

/** Cancels any request of the connection by the id of its message. */
export const cancelHandler: Handler<'$/cancel', WireCall> = ({ id, interrupt = false }, call) => ({
  cancelled: call.cancel(id, { interrupt }),
})

/** How many requests a batch may hold: each is answered, and all of them run at once. */
const maxBatch = 10_000

/** An answer that says no more than why there is none is shorter. */
const errorBytes = 300

/** The serving side of one connection: JSON-RPC 2.0. */
export interface RpcServer {
  /** Takes one message or batch. Nothing waits for what came before it. */
  receive(message: unknown): void
  /** Answers a line that is no message. */
  refuse(why: string): void
  /**
   * Asks the client whether a command may run. False where it says no, answers with an error, or `signal`
   * aborts before.
   */
  ask(
    request: Pick<Request, 'id' | 'command' | 'cwd'>,
    verdict: Verdict,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Settles when every request has been answered. */
  idle(): Promise<void>
  cancelAll(): void
}

/** `prepare` adds to a request what the methods need. */
export function createRpcServer<Call extends WireCall>({
  connection,
  methods,
  prepare,
}: {
  connection: Connection
  methods: ReadonlyMap<string, Method<Call>>
  prepare: (call: WireCall) => Call
}): RpcServer {
  /** Requests under way by their ids; a notification, which has none, by itself. */
  const calls = new Map<unknown, AbortController>()
  /** What was received and is yet to be answered. */
  const underWay = new Set<Promise<void>>()
  /** Questions to the client that wait for their answer. */
  const questions = new Map<unknown, (approved: boolean) => void>()
  let asked = 0

  /** The response to one message; null where it gets none. */
  async function answer(message: unknown): Promise<string | null> {
    if (!isObject(message)) return invalidRequest('A request must be an object')
    const { id = null, method, params } = message
    if (!isRequestId(id)) return invalidRequest('`id` must be a text, a number or null')
    if (message['jsonrpc'] !== '2.0') return invalidRequest('`jsonrpc` must be "2.0"', id)
    if (method === undefined && ('result' in message || 'error' in message)) {
      const { result } = message
      questions.get(id)?.(isObject(result) && result['approved'] === true)
      return null
    }
    if (typeof method !== 'string') return invalidRequest('`method` must be a text', id)
    const isNotification = !('id' in message)
    const key = isNotification ? message : id
    if (calls.has(key)) return invalidRequest('A request with this id is under way', id)
    const cancelling = new AbortController()
    calls.set(key, cancelling)
    const text = await perform(method, params, id, cancelling.signal)
    calls.delete(key)
    return isNotification ? null : text
  }

  /** Never rejects. */
  async function perform(
    name: string,
    params: unknown,
    id: RequestId,
    signal: AbortSignal,
  ): Promise<string> {
    const method = methods.get(name)
    if (!method) {
      const { message, code } = unknownName('method', name.slice(0, 100), [...methods.keys()])
      return failure(id, { code: errorCodes.methodNotFound, message, data: { code } })
    }
    try {
      return success(id, await method(params, prepare({ id, signal, notify, cancel })))
    } catch (error) {
      // What has no result of its own to tell of the cancelling ends with the reason of its signal.
      if (!signal.aborted || error !== signal.reason) return failure(id, toErrorObject(error))
      return failed(id, 'cancelled', 'The request was cancelled')
    }
  }

  const notify: WireCall['notify'] = (method, params) =>
    connection.stream(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`)

  const cancel: WireCall['cancel'] = (id, { interrupt }) => {
    const call = calls.get(id)
    call?.abort(interrupt ? interruption : undefined)
    return call !== undefined
  }

  /** All answers to a batch are one line, in which each has room for an error at least. */
  async function answerBatch(batch: readonly unknown[]): Promise<string | null> {
    if (batch.length === 0) return invalidRequest('A batch must not be empty')
    if (batch.length > maxBatch) {
      const why = `A batch must not have more than ${maxBatch} requests, and this one has ${batch.length}`
      return invalidRequest(why)
    }
    let leftBytes = maxLineBytes - batch.length * errorBytes
    const answerWithin = async (message: unknown) => {
      const text = await answer(message)
      const bytes = text === null ? 0 : Buffer.byteLength(text)
      if (bytes < errorBytes) return text
      if (bytes > leftBytes) return tooLong((message as { id: RequestId }).id)
      leftBytes -= bytes
      return text
    }
    const answers = await Promise.all(batch.map(answerWithin))
    const told = answers.filter((text) => text !== null)
    return told.length > 0 ? `[${told.join(',')}]` : null
  }

  async function respond(message: unknown): Promise<void> {
    const text = await (Array.isArray(message) ? answerBatch(message) : answer(message))
    if (text !== null) connection.send(`${text}\n`)
  }

  return {
    receive(message) {
      const answered = respond(message).finally(() => underWay.delete(answered))
      underWay.add(answered)
    },
    refuse(why) {
      const error = { code: errorCodes.parse, message: why, data: { code: 'parse' } }
      connection.send(`${failure(null, error)}\n`)
    },
    ask({ id: runId, command, cwd }, verdict, signal) {
      if (signal.aborted) return Promise.resolve(false)
      const id = `approval-${++asked}`
      const params = { id: runId, command, cwd, verdict: toWire(verdict) }
      const question = { jsonrpc: '2.0', id, method: 'approval.request', params }
      connection.send(`${JSON.stringify(question)}\n`)
      return new Promise((resolve) => {
        const settle = (approved: boolean) => {
          questions.delete(id)
          signal.removeEventListener('abort', refuse)
          resolve(approved)
        }
        const refuse = () => settle(false)
        signal.addEventListener('abort', refuse, { once: true })
        questions.set(id, settle)
      })
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    cancelAll() {
      for (const call of calls.values()) call.abort()
    },
  }
}

function isRequestId(id: unknown): id is RequestId {
  return id === null || typeof id === 'string' || typeof id === 'number'
}

function success(id: RequestId, result: unknown): string {
  const text = JSON.stringify({ jsonrpc: '2.0', id, result })
  // A UTF-16 unit becomes at most three bytes of UTF-8, so a short text need not be measured.
  const isTooLong = text.length * 3 > maxLineBytes && Buffer.byteLength(text) > maxLineBytes
  return isTooLong ? tooLong(id) : text
}

function tooLong(id: RequestId): string {
  const message = `The answer, or that to the whole batch, is longer than ${maxLineBytes} bytes; ask for less`
  return failed(id, 'answer_too_long', message)
}

function failed(id: RequestId, code: string, message: string): string {
  return failure(id, { code: errorCodes.failed, message, data: { code } })
}

function failure(id: RequestId, error: RpcErrorObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

function invalidRequest(message: string, id: RequestId = null): string {
  const data = { code: 'invalid_request' }
  return failure(id, { code: errorCodes.invalidRequest, message, data })
}
