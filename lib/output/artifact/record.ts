import { constants, promises } from 'node:fs'
import { join } from 'node:path'
import type { ArtifactInfo } from '../../protocol/result/artifacts.ts'
import { replaceFile, readFlags } from '../../system/private-files.ts'
import type { ProcessIdentity } from '../../system/process/process-table.ts'

/** What is known of an artifact, in a small file beside it. */
export interface ArtifactRecord extends Omit<ArtifactInfo, 'uri' | 'path' | 'isLive'> {
  /** 0 until the run has ended. */
  bytes: number
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
    /** Where the lines of its text are, once somebody has looked. */
    index: join(dir, `${id}.index`),
  }
}

/** A new file of ours only: never one that is there already, never through a link. */
export const createFlags =
  constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

export function writeRecord(dir: string, record: ArtifactRecord, mode: number): void {
  replaceFile(pathsOf(dir, record.id).record, `${JSON.stringify(record)}\n`, mode)
}

/** Reads a record; null where there is none, or none that makes sense. */
export async function readRecord(dir: string, id: string): Promise<ArtifactRecord | null> {
  const { record: path } = pathsOf(dir, id)
  let text: string
  try {
    const file = await promises.open(path, readFlags)
    try {
      if (!(await file.stat()).isFile()) return null
      text = await file.readFile('utf8')
    } finally {
      await file.close()
    }
  } catch {
    // Removed meanwhile by another nacre, or not ours to read: to the caller there is none.
    return null
  }
  return parseRecord(text, id)
}

function parseRecord(text: string, id: string): ArtifactRecord | null {
  try {
    const value = JSON.parse(text) as ArtifactRecord
    const texts = [value.command, value.createdAt, value.runId, value.stream]
    const isWhole = texts.every((text) => typeof text === 'string')
    return isWhole && value.id === id && typeof value.writer.pid === 'number' ? value : null
  } catch {
    // Cut short by a full disk or a crash.
    return null
  }
}
