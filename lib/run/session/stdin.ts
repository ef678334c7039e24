import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isUnnamedPipe } from '../../system/descriptors.ts'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import type { SharedFolder } from '../pipe/fifo.ts'

/** What a session's shell opens as the standard input of one command. */
export interface SessionStdin {
  path: string
  release(): void
}

/**
 * `shared`: the folder that the shell sees, if it does not see the system's own. Throws `StartError` if the
 * shell cannot open a descriptor of ours.
 */
export function openSessionStdin(
  stdin: Stdin,
  { shared }: { shared: SharedFolder | null },
): SessionStdin {
  const release = () => undefined
  if (stdin.kind === 'text') return openText(stdin.text, shared)
  if (stdin.kind !== 'descriptor') return { path: '/dev/null', release }
  const isSeen = process.platform === 'linux' && shared === null
  // A socket cannot be opened by its path in /proc (ENXIO).
  const given = fstatSync(stdin.fd)
  if (isSeen && !given.isSocket()) {
    // To open a FIFO by its name waits for a writer (fifo(7)), which may be gone.
    const isNamed = given.isFIFO() && !isUnnamedPipe(stdin.fd)
    if (!isNamed) return { path: `/proc/${process.pid}/fd/${stdin.fd}`, release }
  }
  const what = !isSeen ? 'an open file' : given.isSocket() ? 'a socket' : 'a named pipe'
  const message = `A session reads a text or nothing here, not ${what}: pass the text`
  throw new StartError('session_stdin', message)
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
