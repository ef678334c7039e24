import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { createDeferred } from '../../protocol/deferred.ts'
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { createConnection, receiveMessages } from '../../wire/connection.ts'
import { errorCodes } from '../../wire/messages.ts'
import type { Streams } from '../streams.ts'

/** The way to the client, which stays open for answers when the client has nothing more to ask. */
export interface StdioTransport extends Transport {
  /** Settles when the input has ended, or nobody reads the output any more. */
  readonly ended: Promise<void>
  /** Settles when nobody reads the output any more. */
  readonly gone: Promise<void>
  /** Settles when every request that came has been answered, or was taken back. */
  idle(): Promise<void>
}

/** Says what is wrong with a request; null: nothing is. */
export type FindWrong = (request: Extract<JSONRPCMessage, { method: string }>) => string | null

/**
 * The protocol on standard input and output, a JSON object a line. A line that cannot be read, or a request
 * with wrong parameters, is answered with an error and the connection goes on; a slow reader holds up
 * whoever sends.
 */
export function createStdioTransport(
  { stdin, stdout }: Streams,
  findWrong: FindWrong,
): StdioTransport {
  const connection = createConnection(stdout)
  const unanswered = new Set<unknown>()
  let idlers: (() => void)[] = []
  const { promise: inputEnded, resolve: endInput } = createDeferred()

  function receive(value: unknown): void {
    const message = JSONRPCMessageSchema.safeParse(value)
    if (!message.success) return refuse(errorCodes.invalidRequest, 'Not a message of JSON-RPC 2.0')
    const wrong = 'method' in message.data ? findWrong(message.data) : null
    if (wrong !== null && 'id' in message.data) {
      return refuse(errorCodes.invalidParams, wrong, message.data.id)
    }
    note(message.data)
    transport.onmessage?.(message.data)
  }

  function note(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) unanswered.add(message.id)
    // A request that was cancelled gets no answer.
    else if (message.method === 'notifications/cancelled') settle(message.params?.['requestId'])
  }

  function settle(id: unknown): void {
    unanswered.delete(id)
    if (unanswered.size > 0) return
    for (const idler of idlers) idler()
    idlers = []
  }

  function refuse(code: number, message: string, id: unknown = null): void {
    connection.send(toLine({ jsonrpc: '2.0', id, error: { code, message } }))
  }

  const transport: StdioTransport = {
    ended: Promise.race([inputEnded, connection.gone]),
    gone: connection.gone,
    async idle() {
      if (unanswered.size > 0) await new Promise<void>((resolve) => idlers.push(resolve))
    },
    async start() {
      const receiver = { receive, refuse: (why: string) => refuse(errorCodes.parse, why) }
      void receiveMessages(stdin, connection, receiver).then(endInput)
    },
    async send(message: JSONRPCMessage) {
      await connection.stream(toLine(message))
      if (!('method' in message)) settle(message.id)
    },
    async close() {
      await connection.end()
      stdin.pause()
      transport.onclose?.()
    },
  }
  return transport
}

function toLine(message: unknown): string {
  return `${JSON.stringify(message)}\n`
}
