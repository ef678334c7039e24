import { StringDecoder } from 'node:string_decoder'
import type { RunEvent } from '../protocol/result/event.ts'
import type { Result } from '../protocol/result/result.ts'
import { toWire } from '../protocol/wire.ts'

/** A result as one line of JSON, in the names of the wire. */
export function renderJson(result: Result): string {
  return `${JSON.stringify(toWire(result))}\n`
}

/** The last line of a stream of events. */
export function renderResultLine(result: Result): string {
  return `${JSON.stringify({ type: 'result', ...(toWire(result) as object) })}\n`
}

/**
 * Events as lines of JSON, one object each. Output is the text as the command wrote it, whole
 * characters only; the last line of a run is its result with `type: "result"`.
 */
export function createEventRenderer(): (event: RunEvent) => string {
  const decoders = new Map<string, StringDecoder>()
  return (event) => {
    switch (event.type) {
      case 'exited':
        return renderResultLine(event.result)
      case 'output': {
        const decoder = decoders.get(event.stream) ?? new StringDecoder('utf8')
        decoders.set(event.stream, decoder)
        const data = decoder.write(Buffer.from(event.bytes))
        const { type, id, stream } = event
        return data === '' ? '' : `${JSON.stringify({ type, id, stream, data })}\n`
      }
      default:
        return `${JSON.stringify(toWire(event))}\n`
    }
  }
}
