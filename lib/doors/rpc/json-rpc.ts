import { createJobPeer } from '../../executor/jobs/methods.ts'
import { createReach } from '../../executor/reach.ts'
import { createId } from '../../protocol/wire.ts'
import type { Connection } from '../../wire/connection.ts'
import { createApprovals, createRpcServer, type RpcServer } from '../../wire/server.ts'
import type { Call, ClientState, RpcContext } from './context.ts'
import { methods } from './methods.ts'
import { createPrompts } from './prompts.ts'

/** The JSON-RPC side of the door's connection, which can do everything that the protocol has. */
export function createJsonRpc(context: RpcContext, connection: Connection): RpcServer {
  const approvals = createApprovals((line) => connection.send(line))
  const peer = createJobPeer()
  const handed = new Set<string>()
  const client: ClientState = {
    supportsApproval: false,
    reach: createReach(context.executor, createId('connection'), handed),
    handed,
    prompts: createPrompts(context),
    commands: new Set(),
  }
  return createRpcServer<Call>({
    connection,
    methods,
    onAnswer: (message) => approvals.answer(message),
    prepare(call) {
      const approve: Call['approve'] = (request, verdict) =>
        approvals.ask(request, verdict, call.signal)
      return Object.assign(call, {
        context,
        jobs: context.executor.jobs,
        peer,
        client,
        approve: client.supportsApproval ? approve : undefined,
      })
    },
  })
}
