import { limits } from '../../protocol/limits.ts'
import { createId } from '../../protocol/ids.ts'
import type { StreamName } from '../../protocol/event.ts'
import { pruneStore } from './prune.ts'
import { ArtifactWriter } from './writer.ts'

export interface StoreOptions {
  /** Absolute. Made with mode 0700 when the first artifact is written. */
  dir: string
  /** Of one artifact; past it both ends are kept. Default 256 MiB. */
  artifactBytes?: number
  /** Of all of them, oldest removed first. Default 2 GiB. */
  storeBytes?: number
  /** Default 14. */
  ageDays?: number
}

/** What an artifact is made for. */
export interface ArtifactSubject {
  runId: string
  command: string
  stream: StreamName
}

export interface ArtifactStore {
  readonly dir: string
  /** Begins an artifact. Nothing is on disk before its first bytes are. */
  create(subject: ArtifactSubject): ArtifactWriter
  /** Removes what is too old or too much now. Happens by itself with the first artifact written. */
  prune(): Promise<{ removed: string[] }>
}

export function createArtifactStore(options: StoreOptions): ArtifactStore {
  const { dir } = options
  const pruneLimits = {
    storeBytes: options.storeBytes ?? limits.storeBytes,
    ageMs: (options.ageDays ?? limits.storeAgeDays) * 24 * 3600 * 1000,
  }
  let hasPruned = false
  return {
    dir,
    create({ runId, command, stream }) {
      return new ArtifactWriter({
        dir,
        quotaBytes: options.artifactBytes ?? limits.artifactBytes,
        record: {
          id: createId('art'),
          runId,
          command: command.slice(0, limits.commandPreviewChars),
          stream,
          createdAt: new Date().toISOString(),
          endedAt: null,
          bytes: 0,
          complete: false,
        },
        async onCreated() {
          if (hasPruned) return
          hasPruned = true
          await pruneStore(dir, pruneLimits)
        },
      })
    },
    prune: () => pruneStore(dir, pruneLimits),
  }
}
