import { existsSync, statSync } from 'node:fs'
import type { ArtifactInfo, Lines, Matches, LineRange } from '../../protocol/result/reading.ts'
import { limits } from '../../protocol/limits.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { StreamName } from '../../protocol/result/event.ts'
import { createId } from '../../protocol/wire.ts'
import { startOf } from '../../protocol/words.ts'
import { isAlive } from '../../system/process/process-table.ts'
import {
  isArtifactId,
  listIds,
  noteTrouble,
  type Pruned,
  type Pruner,
  pruneStore,
  removeFiles,
  startPruner,
  takeTurn,
  visitEach,
} from './prune.ts'
import { openStored, pathsOf, type RawBytes, readRaw, readRecord } from './record.ts'
import type { FindOptions, GrepOptions } from './search.ts'
import type { ArtifactText, LineIndex, Place, ScanOptions } from './text.ts'
import { ArtifactWriter } from './writer.ts'

export interface StoreOptions {
  /** Absolute. Made when the first artifact is written. */
  dir: string
  /** A folder that somebody named, such as for an upload: all users may read what is in it. */
  isShared?: boolean
  /** The most bytes of one artifact; past it both ends are kept. Default 256 MiB. */
  artifactBytes?: number
  /** The most bytes of all artifacts together; the oldest are removed first. Default 2 GiB. */
  storeBytes?: number
  /** Default 14. */
  ageDays?: number
  /** Without one the store is pruned when `prune` is called. */
  pruner?: Pruner | null
}

/** What an artifact is made for. */
export interface ArtifactSubject {
  runId: string
  command: string
  stream: StreamName
  /** The conversation or connection of a model that the run belongs to; else a person. */
  belongsTo?: string | null | undefined
  /** Where its sandboxed runs see what belongs to that, though the store is hidden from them. */
  view?: string | null | undefined
}

/**
 * The artifacts of a user, in one folder that several processes share. Every `id` may also be given as
 * `artifact://<id>`; one that is not there is a `MisuseError` with code `not_found`.
 */
export interface ArtifactStore {
  readonly dir: string
  /** Begins an artifact, with its files. */
  create(subject: ArtifactSubject): ArtifactWriter
  /** Newest first. */
  list(): Promise<ArtifactInfo[]>
  /** The records that are damaged, whose artifacts no list has. */
  listDamaged(): Promise<string[]>
  find(id: string): Promise<ArtifactInfo>
  /** By its bare id: the conversation or connection of a model that it belongs to; else null. */
  ownerOf(id: string): string | null
  /** A bounded part of the clean text, and where to go on. */
  read(id: string, range?: LineRange, options?: ScanOptions): Promise<Lines>
  /** The clean text, for somebody who reads here and there; close it. */
  open(id: string): Promise<ArtifactText>
  /** Raw bytes, at most 1 MiB a call; a negative offset counts from the end. */
  readBytes(id: string, range?: Pick<LineRange, 'offset' | 'limit'>): Promise<RawBytes>
  grep(id: string, options: GrepOptions): Promise<Matches>
  /** The next line of an open text that matches, or the one before; null: there is none. */
  findNext(text: ArtifactText, options: FindOptions): Promise<Place | null>
  remove(id: string): Promise<void>
  /** Removes what is too old or too much. A `pruner` does so while artifacts are made, at most once a minute. */
  prune(): Promise<Pruned>
}

const keptIndexes = 8

export function createArtifactStore(options: StoreOptions): ArtifactStore {
  const { dir, pruner } = options
  const pruneLimits = {
    storeBytes: options.storeBytes ?? limits.storeBytes,
    ageDays: options.ageDays ?? limits.storeAgeDays,
  }
  /** Of the artifacts that were read last: what one reader has learnt serves the next one. */
  const indexes = new Map<string, LineIndex>()

  async function find(id: string): Promise<ArtifactInfo> {
    const name = id.startsWith('artifact://') ? id.slice('artifact://'.length) : id
    const info = isArtifactId(name) ? inspect(dir, name) : null
    if (info === null) throw noArtifact(id)
    return info
  }
  const pathOf = async (id: string) => (await find(id)).path

  /** Reading cleans again, and what cleans is loaded when it is needed. */
  async function open(id: string): Promise<ArtifactText> {
    const path = await pathOf(id)
    const { ArtifactText, LineIndex } = await import('./text.ts')
    const file = await openStored(path)
    const index = indexes.get(path) ?? new LineIndex()
    indexes.delete(path)
    indexes.set(path, index)
    const [oldest] = indexes.keys()
    if (indexes.size > keptIndexes && oldest !== undefined) indexes.delete(oldest)
    return new ArtifactText(file, index)
  }

  async function useText<Answer>(
    id: string,
    use: (text: ArtifactText) => Promise<Answer>,
  ): Promise<Answer> {
    const text = await open(id)
    try {
      return await use(text)
    } finally {
      await text.close()
    }
  }

  return {
    dir,
    find,
    ownerOf: (id) => (isArtifactId(id) ? (readRecord(dir, id)?.belongsTo ?? null) : null),
    create({ runId, command, stream, belongsTo = null, view = null }) {
      const isNew = !existsSync(dir)
      return new ArtifactWriter({
        dir,
        isShared: options.isShared ?? false,
        view,
        quotaBytes: options.artifactBytes ?? limits.artifactBytes,
        record: {
          id: createId('art'),
          runId,
          command: startOf(command, limits.commandPreviewChars),
          stream,
          belongsTo,
          createdAt: new Date().toISOString(),
          endedAt: null,
          bytes: 0,
          complete: false,
        },
        onCreated() {
          if (!pruner) return null
          const { isDue, trouble } = takeTurn(dir, isNew)
          if (isDue) void startPruner(pruner, dir, pruneLimits)
          return trouble
        },
      })
    },
    async list() {
      const found: ArtifactInfo[] = []
      await visitEach(await listIds(dir), (id) => {
        const info = inspect(dir, id)
        if (info !== null) found.push(info)
      })
      return found.sort((a, b) => b.createdAt.localeCompare(a.createdAt))
    },
    async listDamaged() {
      const found: string[] = []
      await visitEach(await listIds(dir), (id) => {
        const { record } = pathsOf(dir, id)
        if (readRecord(dir, id) === null && existsSync(record)) found.push(record)
      })
      return found
    },
    open,
    read: (id, range, options) => useText(id, (text) => text.read(range, options)),
    readBytes: async (id, { offset = 0, limit = limits.maxBytes } = {}) =>
      readRaw(await pathOf(id), offset, Math.min(limit, limits.rawReadBytes)),
    grep: async (id, grepOptions) =>
      useText(id, async (text) => (await import('./search.ts')).grepText(text, grepOptions)),
    findNext: async (text, findOptions) =>
      (await import('./search.ts')).findInText(text, findOptions),
    remove: async (id) => removeFiles(dir, (await find(id)).id),
    async prune() {
      const pruned = await pruneStore(dir, pruneLimits)
      if (pruner) noteTrouble(dir, pruned.trouble)
      return pruned
    },
  }
}

export function noArtifact(id: string): MisuseError {
  const message = `No such artifact: ${id}; the result of the command that left it names its id`
  return new MisuseError('not_found', message, 'id')
}

/** What is known of an artifact; null where its file or its record is gone. */
function inspect(dir: string, id: string): ArtifactInfo | null {
  const { data: path } = pathsOf(dir, id)
  const record = readRecord(dir, id)
  const file = record && statSync(path, { throwIfNoEntry: false })
  if (!record || !file) return null
  const { writer, belongsTo: _, ...info } = record
  const isLive = record.endedAt === null && isAlive(writer)
  // Of a run whose nacre was killed, what reached the disk is known only now.
  const bytes = record.endedAt === null ? file.size : record.bytes
  return { ...info, bytes, uri: `artifact://${id}`, path, isLive }
}
