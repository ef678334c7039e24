import type { MethodName } from '../../protocol/rpc-messages.ts'
import { rpcMethods } from '../../protocol/rpc-methods.ts'
import { check } from '../../protocol/shape/check.ts'
import { toWire } from '../../protocol/wire.ts'
import { artifactMethods } from './artifacts.ts'
import { initialize } from './initialize.ts'
import type { Call, Handler, Handlers, MethodShapes } from './method.ts'
import { promptMethods } from './prompt.ts'
import { sessions } from './sessions.ts'
import { shellExec } from './shell-exec.ts'
import { shellJobs } from './shell-jobs.ts'
import { toolMethods } from './tools.ts'

const handlers: Handlers = {
  initialize,
  'shell.exec': shellExec,
  ...shellJobs,
  ...sessions,
  ...toolMethods,
  ...artifactMethods,
  ...promptMethods,
  '$/cancel': ({ id }, { peer }) => ({ cancelled: peer.cancel(id) }),
}

const shapes: MethodShapes = rpcMethods

/** A method as it is called over the wire. Rejects or throws `MisuseError`. */
export type Method = (given: unknown, call: Call) => Promise<unknown>

// The parameter ties the shape of a method to its handler.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function bind<Name extends MethodName>(name: Name): Method {
  const { params } = shapes[name]
  const handle: Handler<Name> = handlers[name]
  return async (given, call) =>
    toWire(
      await handle(check(params, given === undefined ? {} : given, '', { names: 'wire' }), call),
    )
}

/** Every method of the protocol by its name. */
export const methods: ReadonlyMap<string, Method> = new Map(
  (Object.keys(rpcMethods) as MethodName[]).map((name) => [name, bind(name)]),
)
