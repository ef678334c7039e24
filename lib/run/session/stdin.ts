import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
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
 * `shared`: the folder that the shell sees, where it does not see the system's own. Throws `StartError`
 * where a descriptor cannot be opened by another process.
 */
export function openSessionStdin(stdin: Stdin, shared: SharedFolder | null): SessionStdin {
  const release = () => undefined
  if (stdin.kind === 'text') return openText(stdin.text, shared)
  if (stdin.kind !== 'descriptor') return { path: '/dev/null', release }
  const isSeen = process.platform === 'linux' && shared === null
  // A socket cannot be opened by its path in /proc (ENXIO).
  if (isSeen && !fstatSync(stdin.fd).isSocket()) {
    return { path: `/proc/${process.pid}/fd/${stdin.fd}`, release }
  }
  const what = isSeen ? 'a socket' : 'an open file'
  const message = `A session reads a text or nothing here, not ${what}: pass the text`
  throw new StartError({ code: 'session_stdin', message, exitCode: 125 })
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
