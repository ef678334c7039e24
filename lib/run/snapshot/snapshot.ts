import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Launch } from '../launch.ts'
import { captureSetUp } from './capture.ts'
import { composeSetUp } from './text.ts'
import { makePrivateFolder, replaceFile } from '../../system/private-files.ts'

/** What a new session's shell reads before its first command. */
export interface SetUp {
  /** Shell text; empty where the user has set up nothing. */
  text: string
  /** What is missing in it, for the reader. */
  notices: string[]
}

export interface Snapshots {
  /** The user's own set-up for a shell about to be started. Never rejects. */
  read(launch: Launch): Promise<SetUp>
}

const nothing: SetUp = { text: '', notices: [] }

/**
 * Functions, aliases, options and PATH of the user's `~/.bashrc`, captured once by running it in an
 * interactive bash, and kept in `directory` under the content of that file. A file that fails, asks,
 * or takes more than `timeoutMs` costs a notice and is tried again only by the next nacre.
 */
export function createSnapshots(options: { directory: string; timeoutMs?: number }): Snapshots {
  const { directory, timeoutMs = limits.snapshotMs } = options
  const known = new Map<string, Promise<SetUp>>()

  async function capture(launch: Launch, rcPath: string, cachePath: string): Promise<SetUp> {
    const cached = readText(cachePath)
    if (cached !== null) return { text: cached, notices: [] }
    const failed = (why: string): SetUp => ({
      text: '',
      notices: [`${rcPath} was not taken over: ${why}`],
    })
    try {
      makePrivateFolder(directory)
      const captured = await captureSetUp(launch, { rcPath, directory, timeoutMs })
      if (captured.kind === 'failed') return failed(captured.why)
      const setUp = await composeSetUp(launch.file, captured.parts)
      const notices = setUp.dropped.map((part) => `${rcPath}: its ${part} could not be taken over`)
      if (notices.length === 0) keep(cachePath, setUp.text)
      return { text: setUp.text, notices }
    } catch (error) {
      return failed(messageOf(error))
    }
  }

  return {
    async read(launch) {
      const home = launch.env['HOME']
      if (!home || launch.argv0 !== 'bash') return nothing
      const rcPath = join(home, '.bashrc')
      const rc = readText(rcPath)
      if (rc === null) return nothing
      const key = createHash('sha256')
        .update([formatVersion, launch.file, launch.env['PATH'] ?? '', rcPath, rc].join('\0'))
        .digest('hex')
      const found = known.get(key) ?? capture(launch, rcPath, join(directory, `snapshot-${key}.sh`))
      known.set(key, found)
      return found
    },
  }
}

/** Of what is kept on disk. */
const formatVersion = '1'

/** Null where it is not there or may not be read: then it has no effect on the user's own shell either. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === null) throw error
    return null
  }
}

/** Without it the next nacre captures again. */
function keep(path: string, text: string): void {
  try {
    replaceFile(path, text)
  } catch (error) {
    if (codeOf(error) === null) throw error
  }
}
