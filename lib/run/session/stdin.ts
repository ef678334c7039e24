import { closeSync, constants, fstatSync, openSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isUnnamedPipe } from '../../system/descriptors.ts'
import { type FileIdentity, holdsFile } from '../../system/process/process-details.ts'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { codeOf } from '../../protocol/errors.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import type { SharedFolder } from '../pipe/fifo.ts'

/** What a session's shell opens as the standard input of one command. */
export interface SessionStdin {
  path: string
  release(): void
}

/** Between two looks at whether the shell has opened a FIFO. */
const lookEveryMs = 10

/**
 * For a command of the shell `pid`. `shared`: the folder that the shell sees, where it does not see the
 * system's own. Throws `StartError` where a descriptor cannot be opened by another process.
 */
export function openSessionStdin(
  stdin: Stdin,
  { pid, shared }: { pid: number; shared: SharedFolder | null },
): SessionStdin {
  const release = () => undefined
  if (stdin.kind === 'text') return openText(stdin.text, shared)
  if (stdin.kind !== 'descriptor') return { path: '/dev/null', release }
  const isSeen = process.platform === 'linux' && shared === null
  // A socket cannot be opened by its path in /proc (ENXIO).
  const given = fstatSync(stdin.fd)
  if (isSeen && !given.isSocket()) {
    const path = `/proc/${process.pid}/fd/${stdin.fd}`
    if (!given.isFIFO() || isUnnamedPipe(stdin.fd)) return { path, release }
    return { path, release: writeUntilOpened(path, given, pid) }
  }
  const what = isSeen ? 'a socket' : 'an open file'
  const message = `A session reads a text or nothing here, not ${what}: pass the text`
  throw new StartError('session_stdin', message)
}

/**
 * To open a FIFO that has a name waits for a writer (fifo(7)), also where the last one has written all and
 * is gone. nacre is one until the shell `pid` has opened it. Gives what ends that.
 */
function writeUntilOpened(path: string, own: FileIdentity, pid: number): () => void {
  let writer = openAsWriter(path)
  const timer = setInterval(() => {
    if (holdsFile(pid, own)) release()
  }, lookEveryMs)
  function release(): void {
    clearInterval(timer)
    if (writer !== null) closeSync(writer)
    writer = null
  }
  return release
}

/** Null where it is not ours to write. */
function openAsWriter(path: string): number | null {
  try {
    return openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'EACCES') return null
    throw error
  }
}

/** A file, whose name is gone at once where the system has `/proc`. */
function openText(text: string, shared: SharedFolder | null): SessionStdin {
  const fill = (folder: string) => writeFileSync(join(folder, 'text'), text, { mode: 0o600 })
  const directory = makeFilledFolder('stdin', fill, shared?.path)
  const path = join(directory, 'text')
  const remove = () => removeTemporaryFolder(directory)
  if (shared) {
    return { path: join(shared.seenAs, basename(directory), 'text'), release: remove }
  }
  if (process.platform !== 'linux') return { path, release: remove }
  const fd = openSync(path, 'r')
  remove()
  return { path: `/proc/${process.pid}/fd/${fd}`, release: () => closeSync(fd) }
}
