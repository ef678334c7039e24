import { createHash } from 'node:crypto'
import { codeOf } from '../../protocol/errors.ts'
import { version } from '../../protocol/version.ts'
import { readRegularFile, replaceFile } from '../../system/private-files.ts'
import { Landmarks, landmarkNumbers } from './landmarks.ts'
import type { IndexFile } from './line-index.ts'

/*
 * The file holds numbers of 64 bits in the order of bytes of this machine: the head, then a landmark each,
 * then SHA-256 over both and over the version of nacre, since another one may clean a text otherwise.
 */
const headNumbers = 8
const digestBytes = 32

export function createIndexFile(path: string): IndexFile {
  return {
    load(state) {
      const numbers = readNumbers(path)
      if (numbers === null) return null
      const [ino, size = 0, mtimeMs, isWhole, endSize = 0, lines = 0, text = 0] = numbers
      if (ino !== state.ino || size > state.size) return null
      const isSame = size === state.size && mtimeMs === state.mtimeMs
      // A run that goes on only ever writes behind what is there.
      if (!isSame && size === state.size) return null
      const end = isSame && isWhole === 1 ? { size: endSize, lines, text } : null
      return { landmarks: new Landmarks(numbers.subarray(headNumbers)), end }
    },
    save({ ino, size, mtimeMs, mode }, { landmarks, end }) {
      const isWhole = end !== null && end.size === size
      const ended = isWhole ? [1, end.size, end.lines, end.text] : [0, 0, 0, 0]
      const head = Float64Array.of(ino, size, mtimeMs, ...ended, landmarks.length)
      const bytes = Buffer.concat([bytesOf(head), bytesOf(landmarks.numbers)])
      try {
        replaceFile(path, Buffer.concat([bytes, digest(bytes)]), mode & 0o666)
      } catch (error) {
        // No room, no right to write there: the next process looks the artifact over as well.
        if (codeOf(error) === null) throw error
      }
    },
  }
}

/** Null where there is no file, or none that this nacre has written whole. */
function readNumbers(path: string): Float64Array | null {
  const file = readIndex(path)
  if (file === null) return null
  const bytes = file.subarray(0, Math.max(file.length - digestBytes, 0))
  if (!digest(bytes).equals(file.subarray(bytes.length))) return null
  // A copy, since its memory begins at a multiple of 8.
  const numbers = new Float64Array(new Uint8Array(bytes).buffer)
  const count = numbers[headNumbers - 1] ?? -1
  return numbers.length === headNumbers + count * landmarkNumbers ? numbers : null
}

function readIndex(path: string): Buffer | null {
  try {
    return readRegularFile(path)
  } catch (error) {
    if (codeOf(error) === null) throw error
    return null
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(version).update(bytes).digest()
}
