import { StringDecoder } from 'node:string_decoder'
import type { RunEvent, RunListener, StreamName } from '../protocol/result/event.ts'
import type { AllNotifications } from '../protocol/rpc/messages.ts'
import { fromWire, toWire } from '../protocol/wire.ts'
import type { WireCall } from './method.ts'

/** Decodes the streams of one run: characters that are split between two pieces stay whole. */
export function createRunDecoder(): {
  write(stream: StreamName, bytes: Uint8Array): string
  /** What is left of each stream. */
  end(): { stream: StreamName; data: string }[]
} {
  const decoders = new Map<StreamName, StringDecoder>()
  return {
    write(stream, bytes) {
      const decoder = decoders.get(stream) ?? new StringDecoder('utf8')
      decoders.set(stream, decoder)
      return decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    },
    end: () =>
      [...decoders]
        .map(([stream, decoder]) => ({ stream, data: decoder.end() }))
        .filter(({ data }) => data !== ''),
  }
}

/** Tells the client of a run while it goes on: `shell.started`, `shell.output`, `shell.exited`. */
export function notifyOfRun(
  call: Pick<WireCall, 'id' | 'notify'>,
  withOutput: boolean,
): RunListener {
  const decoder = createRunDecoder()
  return (event) => {
    switch (event.type) {
      case 'started': {
        const { id, pid, command } = event
        return call.notify('shell.started', { id, pid, command, request_id: call.id })
      }
      case 'output': {
        if (!withOutput) return
        const { id, stream, bytes } = event
        const data = decoder.write(stream, bytes)
        return data === '' ? undefined : call.notify('shell.output', { id, stream, data })
      }
      case 'exited': {
        const { id, result } = event
        for (const rest of decoder.end()) void call.notify('shell.output', { id, ...rest })
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
  }
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
