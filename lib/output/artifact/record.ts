import type { FileHandle } from 'node:fs/promises'
import { constants, promises } from 'node:fs'
import { join } from 'node:path'
import { MisuseError } from '../../protocol/errors.ts'
import type { ArtifactInfo } from '../../protocol/result/reading.ts'
import { readFlags, readRegularFile, replaceFile } from '../../system/private-files.ts'
import type { ProcessIdentity } from '../../system/process/process-table.ts'

/** What is known of an artifact, in a small file beside it. */
export interface ArtifactRecord extends Omit<ArtifactInfo, 'uri' | 'path' | 'isLive'> {
  /** 0 until the run has ended. */
  bytes: number
  /** The conversation or connection of a model that its run belongs to; else a person. */
  belongsTo?: string | null
  writer: ProcessIdentity
}

/** The files of one artifact. */
export function pathsOf(dir: string, id: string) {
  return {
    /** The raw bytes. */
    data: join(dir, `${id}.log`),
    /** The last bytes of an artifact over its quota, as a ring, until the run ends. */
    ring: join(dir, `${id}.ring`),
    record: join(dir, `${id}.json`),
  }
}

/** A new file of ours only: never one that is there already, never through a link. */
export const createFlags =
  constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

export function writeRecord(dir: string, record: ArtifactRecord, mode: number): void {
  replaceFile(pathsOf(dir, record.id).record, `${JSON.stringify(record)}\n`, mode)
}

/** Reads a record; null where there is none, or none that makes sense. */
export function readRecord(dir: string, id: string): ArtifactRecord | null {
  try {
    const text = readRegularFile(pathsOf(dir, id).record)?.toString() ?? ''
    const value = JSON.parse(text) as ArtifactRecord
    const texts = [value.command, value.createdAt, value.runId, value.stream]
    const isWhole = texts.every((text) => typeof text === 'string')
    return isWhole && value.id === id && typeof value.writer.pid === 'number' ? value : null
  } catch {
    // Another nacre has removed it meanwhile, it is not ours to read, or a full disk or a crash has cut it.
    return null
  }
}

/** Opens a file of the store for reading, never through a link. Throws where it is no file. */
export async function openStored(path: string): Promise<FileHandle> {
  const file = await promises.open(path, readFlags)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new MisuseError(
    'not_found',
    `${path} is not a regular file; remove what stands there`,
    'id',
  )
}

/** At most `limit` raw bytes from `offset` on; a negative offset counts from the end. */
export async function readRaw(path: string, offset: number, limit: number): Promise<RawBytes> {
  const file = await openStored(path)
  try {
    const { size } = await file.stat()
    const from = Math.min(offset < 0 ? Math.max(size + offset, 0) : offset, size)
    const bytes = Buffer.alloc(Math.min(limit, size - from))
    let done = 0
    while (done < bytes.length) {
      const { bytesRead } = await file.read(bytes, done, bytes.length - done, from + done)
      if (bytesRead === 0) break
      done += bytesRead
    }
    const end = from + done
    return {
      bytes: bytes.subarray(0, done),
      offset: from,
      nextOffset: end < size ? end : null,
      totalBytes: size,
    }
  } finally {
    await file.close()
  }
}

export interface RawBytes {
  bytes: Buffer
  /** Where they stand in the file. */
  offset: number
  /** The `offset` to go on reading with; null at the end. */
  nextOffset: number | null
  totalBytes: number
}
