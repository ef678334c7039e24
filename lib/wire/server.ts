import { interruption } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { Verdict } from '../protocol/rules.ts'
import {
  type ClientMethods,
  maxLineBytes,
  type RequestId,
  type RpcErrorObject,
} from '../protocol/rpc/methods.ts'
import { isObject } from '../protocol/shape/shape.ts'
import { toWire, unknownName } from '../protocol/wire.ts'
import { type Connection, notification } from './connection.ts'
import { errorCodes, toErrorObject } from './errors.ts'
import type { Method, WireCall } from './method.ts'

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
  /** Settles when every request has been answered. */
  idle(): Promise<void>
  cancelAll(): void
}

export interface RpcServerOptions<Call extends WireCall> {
  connection: Connection
  methods: ReadonlyMap<string, Method<Call>>
  /** Adds to a request what the methods need. */
  prepare: (call: WireCall) => Call
  /** Takes a message that answers a question of ours. */
  onAnswer?: (message: Readonly<Record<string, unknown>>) => void
}

export function createRpcServer<Call extends WireCall>({
  connection,
  methods,
  prepare,
  onAnswer,
}: RpcServerOptions<Call>): RpcServer {
  const calls = new Set<AbortController>()
  const callsById = new Map<RequestId, AbortController>()
  /** What was received and is yet to be answered. */
  const underWay = new Set<Promise<void>>()

  /** The response to one message; null where it gets none. */
  async function answer(message: unknown): Promise<string | null> {
    if (!isObject(message)) return failure(null, invalidRequest('A request must be an object'))
    const { id = null, method, params } = message
    if (!isRequestId(id)) {
      return failure(null, invalidRequest('`id` must be a text, a number or null'))
    }
    if (message['jsonrpc'] !== '2.0') {
      return failure(id, invalidRequest('`jsonrpc` must be "2.0"'))
    }
    if (method === undefined && ('result' in message || 'error' in message)) {
      onAnswer?.(message)
      return null
    }
    if (typeof method !== 'string') return failure(id, invalidRequest('`method` must be a text'))
    const cancelling = new AbortController()
    if (!('id' in message)) {
      await perform(method, params, null, cancelling)
      return null
    }
    if (callsById.has(id)) {
      return failure(id, invalidRequest('A request with this id is under way'))
    }
    callsById.set(id, cancelling)
    const text = await perform(method, params, id, cancelling)
    callsById.delete(id)
    return text
  }

  /** Never rejects. */
  async function perform(
    name: string,
    params: unknown,
    id: RequestId,
    cancelling: AbortController,
  ): Promise<string> {
    const method = methods.get(name)
    if (!method) return failure(id, methodNotFound(name, methods))
    const call = prepare({
      id,
      signal: cancelling.signal,
      notify: (method, params) => connection.stream(notification(method, params)),
      cancel(other, { interrupt }) {
        const call = callsById.get(other)
        call?.abort(interrupt ? interruption : undefined)
        return call !== undefined
      },
    })
    calls.add(cancelling)
    try {
      return success(id, await method(params, call))
    } catch (error) {
      // What has no result of its own to tell of the cancelling ends with the reason of its signal.
      const { aborted, reason } = cancelling.signal
      return failure(id, aborted && error === reason ? cancelled() : toErrorObject(error))
    } finally {
      calls.delete(cancelling)
    }
  }

  async function receiveOne(message: unknown): Promise<void> {
    const text = await answer(message)
    if (text !== null) connection.send(`${text}\n`)
  }

  async function receiveBatch(batch: readonly unknown[]): Promise<void> {
    if (batch.length === 0) {
      connection.send(`${failure(null, invalidRequest('A batch must not be empty'))}\n`)
      return
    }
    if (batch.length > maxBatch) {
      const why = `A batch must not have more than ${maxBatch} requests, and this one has ${batch.length}`
      connection.send(`${failure(null, invalidRequest(why))}\n`)
      return
    }
    // All answers are one line, in which each has room for an error at least.
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
    if (told.length > 0) connection.send(`[${told.join(',')}]\n`)
  }

  return {
    receive(message) {
      const received = Array.isArray(message) ? receiveBatch(message) : receiveOne(message)
      const answered = received.finally(() => underWay.delete(answered))
      underWay.add(answered)
    },
    refuse(why) {
      connection.send(
        `${failure(null, { code: errorCodes.parse, message: why, data: { code: 'parse' } })}\n`,
      )
    },
    async idle() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    cancelAll() {
      for (const call of calls) call.abort()
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
  return failure(id, { code: errorCodes.failed, message, data: { code: 'answer_too_long' } })
}

function failure(id: RequestId, error: RpcErrorObject): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

function invalidRequest(message: string): RpcErrorObject {
  return { code: errorCodes.invalidRequest, message, data: { code: 'invalid_request' } }
}

function cancelled(): RpcErrorObject {
  const message = 'The request was cancelled'
  return { code: errorCodes.failed, message, data: { code: 'cancelled' } }
}

function methodNotFound(name: string, methods: ReadonlyMap<string, unknown>): RpcErrorObject {
  const { message, code } = unknownName('method', name.slice(0, 100), [...methods.keys()])
  return { code: errorCodes.methodNotFound, message, data: { code } }
}

type ApprovalParams = ClientMethods['approval.request']['params']

/** Questions to the client that wait for their answer. */
export interface Approvals {
  /** False where the client says no, answers with an error, or `signal` aborts before. */
  ask(
    request: Pick<Request, 'id' | 'command' | 'cwd'>,
    verdict: Verdict,
    signal: AbortSignal,
  ): Promise<boolean>
  /** Takes a message of the client that answers one of ours; others are passed by. */
  answer(message: Readonly<Record<string, unknown>>): void
}

export function createApprovals(send: (line: string) => void): Approvals {
  const waiting = new Map<unknown, (approved: boolean) => void>()
  let count = 0

  return {
    ask({ id: runId, command, cwd }, verdict, signal) {
      if (signal.aborted) return Promise.resolve(false)
      const id = `approval-${++count}`
      const params = { id: runId, command, cwd, verdict: toWire(verdict) } as ApprovalParams
      send(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'approval.request', params })}\n`)
      return new Promise((resolve) => {
        const settle = (approved: boolean) => {
          waiting.delete(id)
          signal.removeEventListener('abort', onAbort)
          resolve(approved)
        }
        const onAbort = () => settle(false)
        signal.addEventListener('abort', onAbort, { once: true })
        waiting.set(id, settle)
      })
    },
    answer({ id, result }) {
      waiting.get(id)?.(isObject(result) && result['approved'] === true)
    },
  }
}
