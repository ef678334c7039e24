import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { messageOf } from '../../protocol/errors.ts'
import { createLineReader, isBlankLine, parseJsonLine } from '../../protocol/json-lines.ts'
import { maxLineBytes } from '../../protocol/rpc/messages.ts'
import type { Streams } from '../streams.ts'

/** JSON-RPC: the line was no JSON (-32700), or no message (-32600). */
const parseError = -32_700
const invalidRequest = -32_600

/** The way to the client, which stays open for answers when the client has nothing more to ask. */
export interface StdioTransport extends Transport {
  /** Settles when the input has ended, or nobody reads the output any more. */
  readonly ended: Promise<void>
  /** Settles when nobody reads the output any more. */
  readonly gone: Promise<void>
  /** Settles when every request that came has been answered, or was taken back. */
  idle(): Promise<void>
}

/**
 * The protocol on standard input and output, a JSON object a line. A line that cannot be read is
 * answered with an error and the connection goes on; a slow reader holds up whoever sends.
 */
export function createStdioTransport({ stdin, stdout }: Streams): StdioTransport {
  const unanswered = new Set<unknown>()
  let idlers: (() => void)[] = []
  let endInput = () => {}
  let leave = () => {}
  const inputEnded = new Promise<void>((resolve) => {
    endInput = resolve
  })
  const gone = new Promise<void>((resolve) => {
    leave = resolve
  })

  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine: readLine,
    onTooLong: () => refuse(parseError, `A line must not be longer than ${maxLineBytes} bytes`),
  })
  const take = (chunk: Buffer) => reader.write(chunk)

  function readLine(line: Uint8Array): void {
    if (isBlankLine(line)) return
    let value: unknown
    try {
      value = parseJsonLine(line)
    } catch (error) {
      refuse(parseError, `Not a line of JSON: ${messageOf(error).slice(0, 200)}`)
      return
    }
    const message = JSONRPCMessageSchema.safeParse(value)
    if (!message.success) {
      refuse(invalidRequest, 'Not a message of JSON-RPC 2.0')
      return
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

  function refuse(code: number, message: string): void {
    void write({ jsonrpc: '2.0', id: null, error: { code, message } })
  }

  async function write(message: unknown): Promise<void> {
    if ((await stdout.write(`${JSON.stringify(message)}\n`)) === 'closed') leave()
  }

  const transport: StdioTransport = {
    ended: Promise.race([inputEnded, gone]),
    gone,
    async idle() {
      if (unanswered.size > 0) await new Promise<void>((resolve) => idlers.push(resolve))
    },
    async start() {
      stdin.on('data', take)
      stdin.once('end', () => {
        reader.end()
        endInput()
      })
      stdin.once('close', endInput)
      stdin.on('error', (error) => {
        transport.onerror?.(error)
        endInput()
      })
    },
    async send(message: JSONRPCMessage) {
      await write(message)
      if (!('method' in message)) settle(message.id)
    },
    async close() {
      stdin.off('data', take)
      stdin.pause()
      transport.onclose?.()
    },
  }
  return transport
}
