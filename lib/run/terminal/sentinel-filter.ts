import { countBegun } from '../begun-mark.ts'

/** Passes a stream on up to a sentinel, which may come cut in pieces. */
export interface SentinelFilter {
  readonly found: boolean
  /** What is certain not to be of the sentinel. Nothing after it has been found. */
  push(chunk: Uint8Array): Uint8Array
  /** What was held back, since it might have been the sentinel's beginning. */
  rest(): Uint8Array
}

export function createSentinelFilter(sentinel: Uint8Array): SentinelFilter {
  let held = Buffer.alloc(0)
  let found = false

  return {
    get found() {
      return found
    },
    push(chunk) {
      if (found) return Buffer.alloc(0)
      const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : Buffer.from(chunk)
      const at = bytes.indexOf(sentinel)
      found = at >= 0
      const end = found ? at : bytes.length - countBegun(bytes, sentinel)
      held = found ? Buffer.alloc(0) : bytes.subarray(end)
      return bytes.subarray(0, end)
    },
    rest() {
      const rest = held
      held = Buffer.alloc(0)
      return rest
    },
  }
}
