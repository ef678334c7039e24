import { openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTemporaryFolder } from './temporary-folder.ts'

/**
 * Opens a file of this text for reading, which has no name: any size, no writer that could be kept
 * waiting, and `/dev/fd/<n>` opens. Whoever asks closes it.
 */
export function openTextFile(text: string): number {
  const directory = makeTemporaryFolder('text')
  try {
    const path = join(directory, 'text')
    writeFileSync(path, text, { mode: 0o600 })
    return openSync(path, 'r')
  } finally {
    rmSync(directory, { recursive: true })
  }
}
