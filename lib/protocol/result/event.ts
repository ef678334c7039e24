import { StringDecoder } from 'node:string_decoder'
import type { streamNames } from './reading.ts'
import type { Result } from './result.ts'
import type { TaskCounts, TaskEnd } from '../array.ts'

export type StreamName = (typeof streamNames)[number]

/** What happens while a run goes on, in order. */
export type RunEvent =
  | { type: 'started'; id: string; pid: number | null; command: string }
  | {
      type: 'output'
      id: string
      /** `output` with merged streams. */
      stream: StreamName
      /** As the command wrote them. They stay in the library, elsewhere until the listener's promise settles. */
      bytes: Uint8Array
    }
  /** Of an array: a task has ended, after its last try. */
  | ({ type: 'task'; id: string } & TaskEnd & TaskCounts)
  /** The last one, of every run, also of one that was denied or did not start. */
  | { type: 'exited'; id: string; result: Result }

/**
 * Listens to a run. A returned promise pauses the command (back-pressure).
 * The answer `closed` to output means that nobody reads this stream any more: nacre closes its end,
 * and the command meets a closed pipe as it would under any shell.
 */
export type RunListener = (event: RunEvent) => ListenerAnswer | Promise<ListenerAnswer>
export type ListenerAnswer = 'closed' | void

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
