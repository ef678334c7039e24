import type {
  privateMethods,
  privateNotifications,
  rpcClientMethods,
  rpcMethods,
  rpcNotifications,
} from './methods.ts'
import type { Infer, ObjectShape } from '../shape/shape.ts'
import type { Wire } from '../wire.ts'

export type { RequestId } from './methods.ts'

/** The messages of `--rpc` in the names of the wire, as TypeScript types; `methods.ts` declares them. */
export type MethodName = keyof typeof rpcMethods

/** Every method: what it takes and what it answers. */
export type RpcMethods = OnWire<typeof rpcMethods>

type OnWire<Methods extends Record<string, { params: ObjectShape; result: ObjectShape }>> = {
  [Name in keyof Methods]: {
    params: Wire<Infer<Methods[Name]['params']>>
    result: Wire<Infer<Methods[Name]['result']>>
  }
}

/** The same with what nacres ask each other. */
export interface AllMethods extends RpcMethods, OnWire<typeof privateMethods> {}

/** The answer to `shell.exec`. */
export type ShellExecResult = RpcMethods['shell.exec']['result']
/** A line of the list of jobs. */
export type JobSummary = RpcMethods['shell.list']['result']['jobs'][number]

/** What the server tells without being asked. */
export type RpcNotifications = {
  [Name in keyof typeof rpcNotifications]: Wire<Infer<(typeof rpcNotifications)[Name]>>
}

/** The same with what nacres tell each other. */
export interface AllNotifications extends RpcNotifications {
  'run.event': Infer<(typeof privateNotifications)['run.event']>
}

/** What the server asks of the client. */
export type ClientMethods = OnWire<typeof rpcClientMethods>

/** JSON-RPC 2.0, section 5.1, and what `data` adds. */
export interface RpcErrorObject {
  code: number
  message: string
  data?: { code: string; field?: string }
}

/** A line of either side is at most so long. */
export const maxLineBytes = 64 * 1024 * 1024
