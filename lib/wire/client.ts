import type { Readable, Writable } from 'node:stream'
import { isObject } from '../protocol/shape/shape.ts'
import { messageOf } from '../protocol/errors.ts'
import { createLineReader, parseJsonLine } from '../protocol/json-lines.ts'
import {
  type ClientMethods,
  maxLineBytes,
  type MethodName,
  type RpcErrorObject,
  type RpcMethods,
  type RpcNotifications,
} from '../protocol/rpc/messages.ts'

/** A notification with the parameters of its method. */
export type RpcNotification = {
  [Name in keyof RpcNotifications]: { method: Name; params: RpcNotifications[Name] }
}[keyof RpcNotifications]

export interface CallerOptions {
  /** Answers the questions of the guard; without it, or when it fails, what is asked about is denied. */
  onApproval?: (params: ClientMethods['approval.request']['params']) => boolean | Promise<boolean>
  /**
   * Hears every notification in order. A returned promise pauses reading, and so the command. When
   * it fails the connection is over, and every request rejects with the reason.
   */
  onNotification?: (notification: RpcNotification) => void | Promise<void>
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
export interface Caller {
  /**
   * Rejects with `RpcError`. Aborting `signal` cancels the request; its answer still comes: a run
   * that was stopped is a result.
   */
  request: <Name extends MethodName>(
    method: Name,
    params: RpcMethods[Name]['params'],
    options?: { signal?: AbortSignal | undefined },
  ) => Promise<RpcMethods[Name]['result']>
  /** Ends the connection for everyone who waits, with this as the reason. */
  fail(why: string): void
}

interface Waiting {
  resolve(result: unknown): void
  reject(error: RpcError): void
}

/** Speaks the protocol over two streams. `onFail` is told once that the connection is of no use any more. */
export function createCaller(
  { input, output }: { input: Readable; output: Writable },
  options: CallerOptions,
  onFail: () => void,
): Caller {
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
      send({ id, error: { code: -32_000, message: messageOf(error) } })
    }
  }

  function receive(message: unknown): void | Promise<void> {
    if (!isObject(message)) return
    const { id, method, params, result, error } = message
    if (method === 'approval.request') return void approve(id, params)
    if (method !== undefined) return options.onNotification?.({ method, params } as RpcNotification)
    const request = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) request?.resolve(result)
    else request?.reject(new RpcError(error as RpcErrorObject))
  }

  readMessages(input, { receive, fail })

  return {
    fail,
    request: (method, params, { signal } = {}) =>
      new Promise((resolve, reject) => {
        if (over) {
          reject(over)
          return
        }
        const id = ++count
        const cancel = () => send({ method: '$/cancel', params: { id } })
        const free = () => signal?.removeEventListener('abort', cancel)
        waiting.set(id, {
          resolve(result) {
            free()
            resolve(result as never)
          },
          reject(error) {
            free()
            reject(error)
          },
        })
        send({ id, method, params })
        if (signal?.aborted) cancel()
        else signal?.addEventListener('abort', cancel, { once: true })
      }),
  }
}

interface Receiver {
  receive(message: unknown): void | Promise<void>
  /** What came is no message. */
  fail(why: string): void
}

/** Gives messages on, one after the other; while one is being taken, nothing is read. */
function readMessages(stream: Readable, receiver: Receiver): void {
  const messages: unknown[] = []
  let taking = false

  async function take(): Promise<void> {
    taking = true
    while (messages.length > 0) {
      try {
        const taken = receiver.receive(messages.shift())
        if (taken === undefined) continue
        stream.pause()
        await taken
      } catch (error) {
        receiver.fail(`what was sent could not be taken: ${messageOf(error)}`)
      }
      stream.resume()
    }
    taking = false
  }

  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine(line) {
      try {
        messages.push(parseJsonLine(line))
      } catch (error) {
        receiver.fail(`a line is not JSON: ${messageOf(error)}`)
      }
    },
    onTooLong: () => receiver.fail(`a line has more than ${maxLineBytes} bytes`),
  })
  stream.on('data', (chunk: Buffer) => {
    reader.write(chunk)
    if (!taking) void take()
  })
}
