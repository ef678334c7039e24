import { setTimeout as delay } from 'node:timers/promises'
import { isObject } from '../../protocol/shape/shape.ts'
import { messageOf } from '../../protocol/errors.ts'
import {
  createLineReader,
  isBlankLine,
  type LineReader,
  parseJsonLine,
} from '../../protocol/json-lines.ts'
import { limits } from '../../protocol/limits.ts'
import { maxLineBytes } from '../../protocol/rpc/messages.ts'
import { type Connection, createConnection } from '../../wire/connection.ts'
import type { RpcContext } from './context.ts'
import { createJsonRpc } from './json-rpc.ts'
import { createPiDialect } from './pi/dialect.ts'

/** How long a client that has gone silent may take to read what was answered. */
const flushMs = 2000

/**
 * Serves one client over standard input and output, in either dialect, line by line. Settles when
 * the input has ended, the client has gone or a signal ends nacre; running work is stopped by then.
 */
export async function serveRpc(context: RpcContext): Promise<number> {
  const { executor, streams, signal } = context
  const connection = createConnection(streams.stdout)
  const jsonRpc = createJsonRpc(context, connection)
  const pi = createPiDialect(context, connection)
  const sides = [jsonRpc, pi]
  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine: createReceiver(jsonRpc, pi),
    onTooLong: () => jsonRpc.refuse(`A line must not be longer than ${maxLineBytes} bytes`),
  })

  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  const over = Promise.race([stopped, connection.gone])
  await Promise.race([readAll(streams.stdin, reader, connection), over])
  const idle = Promise.all(sides.map((side) => side.idle()))
  await Promise.race([idle, over, delay(limits.endOfInputMs)])
  // Streams that wait for the client let go first: a stop waits for the last bytes of its run.
  const flushed = connection.end()
  const closed = executor.close()
  for (const side of sides) side.cancelAll()
  await Promise.all([closed, idle])
  await Promise.race([flushed, connection.end(), connection.gone, delay(flushMs)])
  return 0
}

/** Reads to the end of the input, no faster than the client takes the answers. */
function readAll(
  stdin: NodeJS.ReadStream,
  reader: LineReader,
  connection: Connection,
): Promise<void> {
  return new Promise((resolve) => {
    stdin.on('data', (chunk: Buffer) => {
      reader.write(chunk)
      const room = connection.roomToRead
      if (room === null) return
      stdin.pause()
      void room.then(() => stdin.resume())
    })
    stdin.once('end', () => {
      reader.end()
      resolve()
    })
    // A terminal that is gone, a directory: there is nothing more to read.
    stdin.on('error', () => resolve())
    stdin.once('close', () => resolve())
  })
}

interface Side {
  receive(message: unknown): void
  refuse(why: string): void
}

/** Gives each line to the dialect that it is written in. */
function createReceiver(jsonRpc: Side, pi: Side): (line: Uint8Array) => void {
  let last = jsonRpc

  /** What cannot be read is answered in the dialect that it looks like. */
  function refuse(start: string, why: string): void {
    const isJsonRpc = start.includes('"jsonrpc"')
    const side = isJsonRpc ? jsonRpc : /"type"\s*:/.test(start) ? pi : last
    side.refuse(why)
  }

  return (line) => {
    if (isBlankLine(line)) return
    let message: unknown
    try {
      message = parseJsonLine(line)
    } catch (error) {
      const start = new TextDecoder().decode(line.subarray(0, 1000))
      refuse(start, messageOf(error).slice(0, 200))
      return
    }
    const isPi = isObject(message) && 'type' in message && !('jsonrpc' in message)
    last = isPi ? pi : jsonRpc
    last.receive(message)
  }
}
