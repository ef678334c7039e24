import type { Request, StreamMode } from '../protocol/request/request.ts'
import type { ArtifactStore } from './artifact/store.ts'
import { createLazy } from '../protocol/deferred.ts'
import type { Capture, Captured } from './capture.ts'

/**
 * What reads output is loaded with the first run whose text is wanted. `viewOf`: where the sandboxed runs of its
 * owner see what a run leaves.
 */
export function createCaptureOpener(
  store: ArtifactStore | null,
  viewOf: (request: Request) => Promise<string | null> | null,
) {
  const reading = createLazy(() => import('./capture.ts'))
  return async (request: Request, text: boolean): Promise<Capture> => {
    if (!text && request.artifact === 'never') return createNoCapture(request.streams)
    const { createCapture } = reading.made ?? (await reading.open())
    const { id: runId, command, belongsTo } = request
    const view = store && (await viewOf(request))
    return createCapture({ runId, command, belongsTo, view, request, store })
  }
}

/** For a caller that takes the bytes as they come and wants no text of them: nothing is kept. */
function createNoCapture(streams: StreamMode): Capture {
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
