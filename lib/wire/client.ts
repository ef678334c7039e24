import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { isObject } from '../protocol/shape/shape.ts'
import { codeOf, messageOf, MisuseError } from '../protocol/errors.ts'
import { interruption } from '../protocol/ports.ts'
import type {
  AllMethods,
  AllNotifications,
  ClientMethods,
  RpcErrorObject,
  RpcMethods,
  RpcNotifications,
} from '../protocol/rpc/methods.ts'
import { readMessages } from './connection.ts'
import { errorCodes } from './messages.ts'

/** A notification with the parameters of its method. */
export type RpcNotification = NotificationOf<RpcNotifications>

/** A notification, also of the kinds that only nacres send each other. */
export type AnyNotification = NotificationOf<AllNotifications>

type NotificationOf<Table> = {
  [Name in keyof Table]: { method: Name; params: Table[Name] }
}[keyof Table]

export interface CallerOptions<Notification = RpcNotification> {
  /** Answers the questions of the guard; without it, or when it fails, what is asked about is denied. */
  onApproval?: (params: ClientMethods['approval.request']['params']) => boolean | Promise<boolean>
  /**
   * Hears every notification in order. A returned promise pauses reading, and so the command. When
   * it fails the connection is over, and every request rejects with the reason.
   */
  onNotification?: (notification: Notification) => void | Promise<void>
}

/** An error response, or (`code` 0) a connection that is over. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: RpcErrorObject['data']

  constructor({ code, message, data }: RpcErrorObject) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The asking side of one connection. */
export interface Caller<Methods extends Table<Methods> = RpcMethods> {
  /**
   * Rejects with `RpcError`. Aborting `signal` cancels the request (with the reason `'SIGINT'` as Ctrl-C
   * does); its answer still comes: a run that was stopped is a result.
   */
  request: <Name extends keyof Methods>(
    method: Name,
    params: Methods[Name]['params'],
    options?: { signal?: AbortSignal | undefined },
  ) => Promise<Methods[Name]['result']>
  /** Ends the connection for everyone who waits for what has not come yet, with this as the reason. */
  fail(why: string): void
}

/** Methods by their names. */
type Table<Methods> = { [Name in keyof Methods]: { params: unknown; result: unknown } }

interface Waiting {
  resolve(result: unknown): void
  reject(error: RpcError): void
}

/** Speaks the protocol over two streams. `onFail` is told once that the connection is of no use any more. */
export function createCaller<Methods extends Table<Methods> = RpcMethods, Told = RpcNotification>(
  { input, output }: { input: Readable; output: Writable },
  options: CallerOptions<Told>,
  onFail: () => void,
): Caller<Methods> {
  const waiting = new Map<unknown, Waiting>()
  let count = 0
  let over: RpcError | null = null

  function fail(why: string): void {
    if (over) return
    over = new RpcError({ code: 0, message: why })
    for (const request of waiting.values()) request.reject(over)
    waiting.clear()
    onFail()
  }

  function send(message: object): void {
    output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  async function approve(id: unknown, params: unknown): Promise<void> {
    const asked = params as ClientMethods['approval.request']['params']
    try {
      send({ id, result: { approved: (await options.onApproval?.(asked)) ?? false } })
    } catch (error) {
      send({ id, error: { code: errorCodes.failed, message: messageOf(error) } })
    }
  }

  async function hear(notification: Told): Promise<void> {
    try {
      await options.onNotification?.(notification)
    } catch (error) {
      fail(`what was sent could not be taken: ${messageOf(error)}`)
    }
  }

  function receive(message: unknown): unknown {
    if (!isObject(message)) return undefined
    const { id, method, params, result, error } = message
    if (method === 'approval.request') return void approve(id, params)
    if (method !== undefined) return hear({ method, params } as Told)
    const request = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) return request?.resolve(result)
    return request?.reject(new RpcError(error as RpcErrorObject))
  }

  const messages = readMessages(input, {
    receive,
    refuse: (why) => fail(`a line is not JSON: ${why}`),
  })

  return {
    // What has come before the end may be an answer.
    fail: (why) => messages.whenTaken(() => fail(why)),
    async request(method, params, { signal } = {}) {
      if (over) throw over
      const id = ++count
      const cancel = () => {
        const interrupt = signal?.reason === interruption
        send({ method: '$/cancel', params: { id, ...(interrupt && { interrupt }) } })
      }
      type Answer = Methods[typeof method]['result']
      const answered = new Promise<Answer>((resolve, reject) =>
        waiting.set(id, { resolve, reject }),
      )
      send({ id, method, params })
      if (signal?.aborted) cancel()
      else signal?.addEventListener('abort', cancel, { once: true })
      return answered.finally(() => signal?.removeEventListener('abort', cancel))
    },
  }
}

/** The other side is gone: it has ended, or is about to. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** How a socket says that nobody is at its other end. */
const goneCodes = ['ENOENT', 'ECONNREFUSED', 'EPIPE', 'ECONNRESET']

/**
 * Asks once over a socket, and closes it. Rejects with `MisuseError` if the other side refuses, with
 * `ConnectionLost` if nobody is there, and with the error of the socket if that is not known.
 */
export async function askOnce<Name extends keyof AllMethods>(
  socket: Socket,
  method: Name,
  params: AllMethods[Name]['params'],
  {
    signal,
    ...options
  }: CallerOptions<AnyNotification> & { signal?: AbortSignal | undefined } = {},
): Promise<AllMethods[Name]['result']> {
  const streams = { input: socket, output: socket }
  const caller = createCaller<AllMethods, AnyNotification>(streams, options, () => socket.destroy())
  let unknown: Error | null = null
  socket.once('error', (error) => {
    if (!goneCodes.includes(codeOf(error) ?? '')) unknown = error
    caller.fail(error.message)
  })
  socket.once('close', () => caller.fail('The nacre that was asked has ended'))
  try {
    return await caller.request(method, params, { signal })
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (error.code !== 0) throw toOriginal(error)
    throw unknown ?? new ConnectionLost(error.message)
  } finally {
    socket.destroy()
  }
}

/** What an error of the other side was before it went over the wire. */
export function toOriginal({ code, message, data }: RpcError): Error {
  if (code === errorCodes.internal || !data) return new Error(message)
  return new MisuseError(data.code, message, data.field ?? null)
}
