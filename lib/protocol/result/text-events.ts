import { StringDecoder } from 'node:string_decoder'
import type { ListenerAnswer, RunEvent, RunListener, StreamName } from './event.ts'

/** What happens in a run, with its output as text. */
export type TextEvent =
  | Exclude<RunEvent, { type: 'output' }>
  | { type: 'output'; id: string; stream: StreamName; data: string }

/**
 * Makes a listener that hears text: characters that are split between two pieces of a stream stay whole,
 * and what is left of each stream comes before the end.
 */
export function listenToText(
  tell: (event: TextEvent) => ListenerAnswer | Promise<ListenerAnswer>,
): RunListener {
  const decoders = new Map<StreamName, StringDecoder>()
  return (event) => {
    const { id } = event
    switch (event.type) {
      case 'output': {
        const { type, stream, bytes } = event
        const decoder = decoders.get(stream) ?? new StringDecoder('utf8')
        decoders.set(stream, decoder)
        const data = decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
        return data === '' ? undefined : tell({ type, id, stream, data })
      }
      case 'exited':
        for (const [stream, decoder] of decoders) {
          const data = decoder.end()
          if (data !== '') void tell({ type: 'output', id, stream, data })
        }
        return tell(event)
      default:
        return tell(event)
    }
  }
}
