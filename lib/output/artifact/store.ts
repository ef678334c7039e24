import { promises } from 'node:fs'
import type { ArtifactInfo, LineRange, Lines, Matches } from '../../protocol/artifacts.ts'
import { limits } from '../../protocol/limits.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { StreamName } from '../../protocol/event.ts'
import { createId, idPattern } from '../../protocol/ids.ts'
import type { GrepOptions } from './grep.ts'
import { isAlive } from '../../system/process-table.ts'
import { idOf, namesIn, pruneStore, removeFiles } from './prune.ts'
import type { RawBytes } from './read.ts'
import { pathsOf, readRecord } from './record.ts'
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

/**
 * The artifacts of a user, in one folder that several processes share. Every `id` may also be given as
 * `artifact://<id>`; one that is not there is a `MisuseError` with code `not_found`.
 */
export interface ArtifactStore {
  readonly dir: string
  /** Begins an artifact. Nothing is on disk before its first bytes are. */
  create(subject: ArtifactSubject): ArtifactWriter
  /** Newest first. */
  list(): Promise<ArtifactInfo[]>
  find(id: string): Promise<ArtifactInfo>
  /** Lines of the clean text: by `head` or `tail` those of one end, else as `readLines` does. */
  read(id: string, range?: LineRange): Promise<Lines>
  /** Lines of the clean text after the first `offset` (default 0), at most `limit` (default 2000). */
  readLines(id: string, range?: { offset?: number; limit?: number }): Promise<Lines>
  /** The last lines of the clean text. */
  readLastLines(id: string, count: number): Promise<Lines>
  /** Raw bytes, at most 1 MiB a call; a negative offset counts from the end. */
  readBytes(id: string, range?: { offset?: number; limit?: number }): Promise<RawBytes>
  grep(id: string, options: GrepOptions): Promise<Matches>
  remove(id: string): Promise<void>
  /** Removes what is too old or too much. Happens by itself with the first artifact of a store. */
  prune(): Promise<{ removed: string[] }>
}

const maxRawBytes = 1024 * 1024

export function createArtifactStore(options: StoreOptions): ArtifactStore {
  const { dir } = options
  const pruneLimits = {
    storeBytes: options.storeBytes ?? limits.storeBytes,
    ageMs: (options.ageDays ?? limits.storeAgeDays) * 24 * 3600 * 1000,
  }
  let hasPruned = false

  async function find(id: string): Promise<ArtifactInfo> {
    const name = id.startsWith('artifact://') ? id.slice('artifact://'.length) : id
    const info = isArtifactId(name) ? await inspect(dir, name) : null
    if (info === null) throw new MisuseError('not_found', `No such artifact: ${id}`, 'id')
    return info
  }
  const pathOf = async (id: string) => (await find(id)).path

  return {
    dir,
    find,
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
    async list() {
      const ids = new Set((await namesIn(dir)).map(idOf).filter((id) => id !== null))
      const found = await Promise.all([...ids].map((id) => inspect(dir, id)))
      return found
        .filter((info) => info !== null)
        .sort((a, b) => b.createdAt.localeCompare(a.createdAt))
    },
    async read(id, { offset = 0, limit = limits.maxLines, head, tail } = {}) {
      const path = await pathOf(id)
      const { readLastLines, readLines } = await loadReading()
      if (head !== undefined) return readLines(path, 0, head)
      return tail === undefined ? readLines(path, offset, limit) : readLastLines(path, tail)
    },
    readLines: async (id, { offset = 0, limit = limits.maxLines } = {}) =>
      (await loadReading()).readLines(await pathOf(id), offset, limit),
    readLastLines: async (id, count) =>
      (await loadReading()).readLastLines(await pathOf(id), count),
    readBytes: async (id, { offset = 0, limit = limits.maxBytes } = {}) =>
      (await import('./read.ts')).readRaw(await pathOf(id), offset, Math.min(limit, maxRawBytes)),
    grep: async (id, grepOptions) =>
      (await import('./grep.ts')).grepFile(await pathOf(id), grepOptions),
    remove: async (id) => removeFiles(dir, (await find(id)).id),
    prune: () => pruneStore(dir, pruneLimits),
  }
}

/** Reading cleans again, and what cleans is loaded when it is needed. */
const loadReading = () => import('./lines.ts')

function isArtifactId(id: string): boolean {
  return id.startsWith('art_') && idPattern.test(id)
}

/** What is known of an artifact; null where its file or its record is gone. */
async function inspect(dir: string, id: string): Promise<ArtifactInfo | null> {
  const { data: path } = pathsOf(dir, id)
  const [record, file] = await Promise.all([
    readRecord(dir, id),
    promises.stat(path).catch(() => null),
  ])
  if (record === null || file === null) return null
  const { writer, ...info } = record
  const isLive = record.endedAt === null && isAlive(writer)
  // Of a run whose nacre was killed, what reached the disk is known only now.
  const bytes = record.endedAt === null ? file.size : record.bytes
  return { ...info, bytes, uri: `artifact://${id}`, path, isLive }
}
