import type { FileHandle } from 'node:fs/promises'

/** Writes all of the bytes at a place of a file. */
export async function writeAt(
  file: FileHandle,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

/** Copies at most `length` bytes, up to the end of the source; answers the place after them. */
export async function copyRange(
  source: FileHandle,
  from: number,
  length: number,
  target: FileHandle,
  to: number,
): Promise<number> {
  const buffer = Buffer.allocUnsafeSlow(1024 * 1024)
  let done = 0
  while (done < length) {
    const { bytesRead } = await source.read(
      buffer,
      0,
      Math.min(buffer.length, length - done),
      from + done,
    )
    if (bytesRead === 0) break
    await writeAt(target, buffer.subarray(0, bytesRead), to + done)
    done += bytesRead
  }
  return to + done
}
