import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { JSONRPCMessageSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { messageOf } from '../../protocol/errors.ts'
import type { Streams } from '../streams.ts'

/** JSON-RPC: the line was no JSON (-32700), or no message (-32600). */
const parseError = -32_700
const invalidRequest = -32_600

/**
 * The protocol on standard input and output, a JSON object a line. A line that cannot be read is
 * answered with an error and the connection goes on; a slow reader holds up whoever sends.
 */
export function createStdioTransport({ stdin, stdout }: Streams): Transport {
  let rest = ''

  function take(text: string): void {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim() !== '') readLine(line)
  }

  function readLine(line: string): void {
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch (error) {
      refuse(parseError, `Not a line of JSON: ${messageOf(error)}`)
      return
    }
    const message = JSONRPCMessageSchema.safeParse(value)
    if (message.success) transport.onmessage?.(message.data)
    else refuse(invalidRequest, 'Not a message of JSON-RPC 2.0')
  }

  function refuse(code: number, message: string): void {
    void write({ jsonrpc: '2.0', id: null, error: { code, message } })
  }

  async function write(message: unknown): Promise<void> {
    await stdout.write(`${JSON.stringify(message)}\n`)
  }

  const transport: Transport = {
    async start() {
      stdin.setEncoding('utf8')
      stdin.on('data', take)
      stdin.on('end', () => transport.onclose?.())
      stdin.on('error', (error) => {
        transport.onerror?.(error)
        transport.onclose?.()
      })
    },
    send: (message: JSONRPCMessage) => write(message),
    async close() {
      stdin.off('data', take)
      stdin.pause()
      transport.onclose?.()
    },
  }
  return transport
}
