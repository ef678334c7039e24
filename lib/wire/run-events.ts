import { type RunEvent, type RunListener, listenToText } from '../protocol/result/event.ts'
import type { AllNotifications } from '../protocol/rpc/methods.ts'
import { fromWire, toWire } from '../protocol/wire.ts'
import type { WireCall } from './method.ts'

/** Tells the client of a run while it goes on: `shell.started`, `shell.output`, `shell.exited`. */
export function notifyOfRun(
  call: Pick<WireCall, 'id' | 'notify'>,
  withOutput: boolean,
): RunListener {
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
        return call.notify('shell.exited', {
          id,
          status: result.status,
          exit_code: result.exitCode,
          signal: result.signal,
          reason: result.reason,
          duration_ms: result.durationMs,
        })
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
