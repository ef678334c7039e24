import type { FileHandle } from 'node:fs/promises'
import { promises } from 'node:fs'
import { MisuseError } from '../../protocol/errors.ts'
import { readFlags } from '../../system/private-files.ts'

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
