import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '../../agent/agent.ts'
import type { AgentSettings } from '../../agent/session.ts'
import type { Approve } from '../../executor/executor.ts'
import { createJobPeer } from '../../executor/jobs/registry.ts'
import { createReach } from '../../executor/reach.ts'
import { createLazy, type Lazy, whenAborted } from '../../protocol/deferred.ts'
import { createId } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import { interruption } from '../../protocol/ports.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import {
  type Connection,
  createConnection,
  type MessageReceiver,
  receiveMessages,
} from '../../wire/connection.ts'
import { createRpcServer, type RpcServer } from '../../wire/server.ts'
import { createPiDialect } from '../pi/dialect.ts'
import type { DoorContext } from '../command.ts'
import { type Call, type ClientState, createPrompts, methods } from './methods.ts'

/** What the RPC door works with. */
export interface RpcContext extends DoorContext {
  cwd: string
  /** What a model works with here. */
  agentSettings: () => AgentSettings
  /** In which dialect a line is answered that is no message, before the first one that is. */
  firstDialect: 'json-rpc' | 'pi'
  /** Takes the tools that the client's model has. */
  learnToolNames: (names: readonly string[]) => void
}

/** How long a client that has gone silent may take to read what was answered. */
const flushMs = 2000

/**
 * Serves one client over standard input and output, in either dialect, line by line. Settles when
 * the input has ended, the client has gone or a signal ends nacre; running work is stopped by then.
 */
export async function serveRpc(context: RpcContext): Promise<number> {
  const { executor, streams, signal, agentSettings } = context
  const connection = createConnection(streams.stdout)
  const agent = createLazy(async () => {
    const { createAgent } = await import('../../agent/agent.ts')
    return createAgent(executor, agentSettings())
  })
  const jsonRpc = createJsonRpc(context, connection, agent)
  const pi = createPiDialect(executor, connection, agent, agentSettings().model)
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

/** The JSON-RPC side of the connection, which can do everything that the protocol has. */
function createJsonRpc(
  { executor, signal, cwd, learnToolNames }: RpcContext,
  connection: Connection,
  agent: Lazy<Agent>,
): RpcServer {
  const peer = createJobPeer()
  const handed = new Set<string>()
  const askForModel: Approve = (request, verdict, during = signal) =>
    client.supportsApproval && server.ask(request, verdict, during)
  const client: ClientState = {
    supportsApproval: false,
    learnToolNames,
    reach: createReach(
      executor,
      createId('connection'),
      (id, act) => act === 'read' && handed.has(id),
    ),
    handed,
    prompts: createPrompts(executor, agent, askForModel),
    commands: new Set(),
  }
  const server = createRpcServer<Call>({
    connection,
    methods,
    prepare(call) {
      const approve: Approve = (request, verdict) => server.ask(request, verdict, call.signal)
      const common = { executor, cwd, jobs: executor.jobs, peer, client }
      return Object.assign(call, {
        ...common,
        approve: client.supportsApproval ? approve : undefined,
      })
    },
  })
  return server
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
