import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { isObject } from './protocol/shape/shape.ts'
import { messageOf } from './protocol/errors.ts'
import { createLineReader } from './protocol/json-lines.ts'
import {
  type ClientMethods,
  maxLineBytes,
  type MethodName,
  type RpcErrorObject,
  type RpcMethods,
  type RpcNotifications,
} from './protocol/rpc-messages.ts'

export type * from './protocol/rpc-messages.ts'

export interface ClientOptions {
  /** Any command line that speaks the protocol: `['nacre', '--rpc']`, `['ssh', 'host', 'nacre', '--rpc']`. */
  command: readonly [program: string, ...words: string[]]
  cwd?: string
  /** The whole environment of that program. Default: that of this process. */
  env?: Readonly<Record<string, string | undefined>>
  /** Sent with `initialize`. */
  client?: { name: string; version?: string }
  toolNames?: string[]
  /** Answers the questions of the guard; without it, or when it fails, what is asked about is denied. */
  onApproval?: (params: ClientMethods['approval.request']['params']) => boolean | Promise<boolean>
  /**
   * Hears every notification in order. A returned promise pauses reading, and so the command. When
   * it fails the connection is over, and every request rejects with the reason.
   */
  onNotification?: (notification: RpcNotification) => void | Promise<void>
}

/** A notification with the parameters of its method. */
export type RpcNotification = {
  [Name in keyof RpcNotifications]: { method: Name; params: RpcNotifications[Name] }
}[keyof RpcNotifications]

export interface Client {
  readonly server: RpcMethods['initialize']['result']
  /** Of the program on the other side. */
  readonly pid: number
  /**
   * Rejects with `RpcError`. Aborting `signal` cancels the request; its answer still comes: a run
   * that was stopped is a result.
   */
  request<Name extends MethodName>(
    method: Name,
    params: RpcMethods[Name]['params'],
    options?: { signal?: AbortSignal },
  ): Promise<RpcMethods[Name]['result']>
  /** Ends the program's input, which stops all its work. Gives its exit status, null after a signal. */
  close(): Promise<number | null>
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

interface Waiting {
  resolve(result: unknown): void
  reject(error: RpcError): void
}

/** Starts the program and greets it. Rejects with `RpcError` where it cannot be started. */
export async function startClient(options: ClientOptions): Promise<Client> {
  const { command, cwd, env, onNotification } = options
  const [program, ...words] = command
  const child = spawn(program, words, { cwd, env: env ?? process.env, stdio: piped })
  const waiting = new Map<unknown, Waiting>()
  let count = 0
  let over: RpcError | null = null

  function fail(why: string): void {
    over ??= new RpcError({ code: 0, message: `${program} ${why}` })
    for (const request of waiting.values()) request.reject(over)
    waiting.clear()
    child.kill()
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      fail(`could not be started: ${error.message}`)
      resolve(null)
    })
    child.once('close', (status, signal) => {
      fail(`has ended (${signal ?? status})`)
      resolve(status)
    })
  })
  // Told by `close` above.
  child.stdin.on('error', () => undefined)

  function send(message: object): void {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
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
    if (method !== undefined) return onNotification?.({ method, params } as RpcNotification)
    const request = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) request?.resolve(result)
    else request?.reject(new RpcError(error as RpcErrorObject))
  }

  readMessages(child.stdout, { receive, fail })

  const request: Client['request'] = (method, params, { signal } = {}) =>
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
    })

  const server = await request('initialize', {
    ...(options.client && { client: options.client }),
    ...(options.toolNames && { tool_names: options.toolNames }),
    capabilities: { supports_approval: options.onApproval !== undefined },
  }).catch(async (error: unknown) => {
    // Nobody gets a client that could end it.
    fail('was not greeted')
    await ended
    throw error
  })
  return {
    server,
    pid: child.pid ?? 0,
    request,
    close() {
      child.stdin.end()
      return ended
    },
  }
}

const piped: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit']

interface Receiver {
  receive(message: unknown): void | Promise<void>
  /** What came is no message. */
  fail(why: string): void
}

/** Gives messages on, one after the other; while one is being taken, nothing is read. */
function readMessages(stdout: Readable, receiver: Receiver): void {
  const messages: unknown[] = []
  let taking = false

  async function take(): Promise<void> {
    taking = true
    while (messages.length > 0) {
      try {
        const taken = receiver.receive(messages.shift())
        if (taken === undefined) continue
        stdout.pause()
        await taken
      } catch (error) {
        receiver.fail(`sent what could not be taken: ${messageOf(error)}`)
      }
      stdout.resume()
    }
    taking = false
  }

  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine(line) {
      try {
        messages.push(JSON.parse(Buffer.from(line).toString()))
      } catch (error) {
        receiver.fail(`wrote a line that is not JSON: ${messageOf(error)}`)
      }
    },
    onTooLong: () => receiver.fail(`wrote a line of more than ${maxLineBytes} bytes`),
  })
  stdout.on('data', (chunk: Buffer) => {
    reader.write(chunk)
    if (!taking) void take()
  })
}
