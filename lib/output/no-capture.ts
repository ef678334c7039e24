import type { StreamMode } from '../protocol/request/request.ts'
import type { Capture, Captured } from './capture.ts'

/** For a caller that takes the bytes as they come and wants no text of them: nothing is kept. */
export function createNoCapture(streams: StreamMode): Capture {
  const nothing = (): Captured => ({
    ...(streams === 'merged' ? { output: '' } : { stdout: '', stderr: '' }),
    truncation: null,
    artifact: null,
    notices: [],
  })
  return {
    write: () => undefined,
    snapshot: nothing,
    read: () => ({ text: '', cursor: 0, truncatedBefore: 0, moreBytes: 0 }),
    kept: () => ({ output: { text: Buffer.alloc(0), start: 0 } }),
    finish: async () => nothing(),
  }
}
