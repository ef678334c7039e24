import type { Result } from '../protocol/result/result.ts'
import type { TextEvent } from '../protocol/result/event.ts'
import { toWire } from '../protocol/wire.ts'

/** A result as one line of JSON, in the names of the wire. */
export function renderJson(result: Result): string {
  return `${JSON.stringify(toWire(result))}\n`
}

/** The last line of a stream of events. */
export function renderResultLine(result: Result): string {
  return `${JSON.stringify({ type: 'result', ...(toWire(result) as object) })}\n`
}

/** An event as a line of JSON; the last line of a run is its result with `type: "result"`. */
export function renderEvent(event: TextEvent): string {
  if (event.type === 'exited') return renderResultLine(event.result)
  return `${JSON.stringify(toWire(event))}\n`
}
