import type { FileHandle } from 'node:fs/promises'
import { constants, promises } from 'node:fs'
import { Filter } from '../filter.ts'

const chunkBytes = 256 * 1024

/** Opens a file of the store for reading, never through a link. */
export function openStored(path: string): Promise<FileHandle> {
  return promises.open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
}

/** The clean text of a raw file, piece by piece. */
export async function* openClean(path: string): AsyncGenerator<Buffer> {
  const file = await openStored(path)
  try {
    let pieces: Buffer[] = []
    const filter = new Filter({ emit: (bytes) => pieces.push(Buffer.from(bytes)) })
    const chunk = Buffer.allocUnsafeSlow(chunkBytes)
    for (let at = 0; ;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, at)
      if (bytesRead === 0) break
      await filter.write(chunk.subarray(0, bytesRead))
      at += bytesRead
      const ready = pieces
      pieces = []
      yield* ready
    }
    filter.end()
    yield* pieces
  } finally {
    await file.close()
  }
}

/** Hands the clean text of a raw file on, until `take` answers false. */
export async function readClean(path: string, take: (text: Buffer) => boolean): Promise<void> {
  for await (const text of openClean(path)) if (!take(text)) return
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
