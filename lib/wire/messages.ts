import { messageOf, MisuseError } from '../protocol/errors.ts'
import {
  type ListenerAnswer,
  listenToText,
  type RunEvent,
  type RunListener,
} from '../protocol/result/event.ts'
import type { AllNotifications, RequestId, RpcErrorObject } from '../protocol/rpc/methods.ts'
import { fromWire, toWire } from '../protocol/wire.ts'

/** The codes of JSON-RPC 2.0, section 5.1; `failed` is the one left to servers. */
export const errorCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  failed: -32_000,
} as const

/** Kinds of misuse that speak of the parameters of a method. */
const paramCodes = new Set(['invalid_field', 'unknown_field', 'missing_field', 'empty_command'])

/** An error as JSON-RPC has it: misuse names the field, everything else has `data.code`. */
export function toErrorObject(error: unknown): RpcErrorObject {
  if (!(error instanceof MisuseError)) {
    return { code: errorCodes.internal, message: messageOf(error), data: { code: 'internal' } }
  }
  const { code, message, field } = error
  if (!paramCodes.has(code)) return { code: errorCodes.failed, message, data: { code } }
  return {
    code: errorCodes.invalidParams,
    message,
    data: field === null ? { code } : { code, field },
  }
}

/** A request whose client is told what happens meanwhile. */
export interface Notifier {
  /** The id of its message; null for a notification. */
  readonly id: RequestId
  /** A promise says to wait, `closed` that the other side is gone. */
  notify<Name extends keyof AllNotifications>(
    method: Name,
    params: AllNotifications[Name],
  ): ListenerAnswer | Promise<ListenerAnswer>
}

/** Tells the client of a run while it goes on: `shell.started`, `shell.output`, `shell.exited`. */
export function notifyOfRun(call: Notifier, withOutput: boolean): RunListener {
  const hear = listenToText((event) => {
    switch (event.type) {
      case 'started': {
        const { id, pid, command } = event
        return call.notify('shell.started', { id, pid, command, request_id: call.id })
      }
      case 'output': {
        const { id, stream, data } = event
        return call.notify('shell.output', { id, stream, data })
      }
      case 'task': {
        const { type: _, ...told } = event
        return call.notify('shell.task', toWire(told) as AllNotifications['shell.task'])
      }
      case 'exited': {
        const { id, result } = event
        const { status, exitCode, signal, reason, durationMs } = result
        const told = { id, status, exit_code: exitCode, signal, reason, duration_ms: durationMs }
        return call.notify('shell.exited', told)
      }
      default:
        return
    }
  })
  return (event) => (withOutput || event.type !== 'output' ? hear(event) : undefined)
}

/** An event as nacres tell it each other: with its bytes, which text would not hold, in base64. */
export function encodeEvent(event: RunEvent): AllNotifications['run.event'] {
  if (event.type !== 'output') return { event: toWire(event) }
  return { event: { ...event, bytes: Buffer.from(event.bytes).toString('base64') } }
}

export function decodeEvent(params: AllNotifications['run.event']): RunEvent {
  const event = fromWire(params.event) as RunEvent
  if (event.type !== 'output') return event
  return { ...event, bytes: Buffer.from(event.bytes as unknown as string, 'base64') }
}
