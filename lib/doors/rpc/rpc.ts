import { setTimeout as delay } from 'node:timers/promises'
import { whenAborted } from '../../protocol/deferred.ts'
import { interruption } from '../../protocol/ports.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { limits } from '../../protocol/limits.ts'
import { createConnection, type MessageReceiver, receiveMessages } from '../../wire/connection.ts'
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

  const stopped = whenAborted(signal)
  const over = Promise.race([stopped, connection.gone])
  const receiver = chooseDialect(jsonRpc, pi, context.firstDialect === 'pi' ? pi : jsonRpc)
  await Promise.race([receiveMessages(streams.stdin, connection, receiver), over])
  const idle = Promise.all(sides.map((side) => side.idle()))
  await Promise.race([idle, over, delay(limits.endOfInputMs.rpc)])
  // A stop waits for the last bytes of its run, and those may wait for a client that does not read: the
  // connection lets go of them first.
  void connection.end()
  const closed = executor.close({ interrupt: signal.reason === interruption })
  for (const side of sides) side.cancelAll()
  await Promise.all([closed, idle])
  await Promise.race([connection.end(), connection.gone, delay(flushMs)])
  return 0
}

/**
 * Gives each line to the dialect that it is written in; a line that is no message goes to the one that was
 * spoken last.
 */
function chooseDialect(
  jsonRpc: MessageReceiver,
  pi: MessageReceiver,
  first: MessageReceiver,
): MessageReceiver {
  let last = first
  return {
    receive(message) {
      if (isObject(message)) last = 'type' in message && !('jsonrpc' in message) ? pi : jsonRpc
      else if (Array.isArray(message)) last = jsonRpc
      if (isObject(message) || last === jsonRpc) last.receive(message)
      else last.refuse('A command must be an object', '')
    },
    refuse(why, start) {
      const isJsonRpc = start.includes('"jsonrpc"')
      const side = isJsonRpc ? jsonRpc : /"type"\s*:/.test(start) ? pi : last
      side.refuse(why, start)
    },
  }
}
