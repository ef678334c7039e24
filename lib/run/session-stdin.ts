import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StartError } from '../protocol/ports.ts'
import type { Stdin } from '../protocol/request.ts'

/** What a session's shell opens as the standard input of one command. */
export interface SessionStdin {
  path: string
  release(): void
}

/** Throws `StartError` where a descriptor cannot be opened by another process. */
export function openSessionStdin(stdin: Stdin): SessionStdin {
  const release = () => undefined
  if (stdin.kind === 'text') return openText(stdin.text)
  if (stdin.kind !== 'descriptor') return { path: '/dev/null', release }
  if (process.platform === 'linux') return { path: `/proc/${process.pid}/fd/${stdin.fd}`, release }
  const message = 'A session reads a text or nothing here, not an open file: pass the text'
  throw new StartError({ code: 'session_stdin', message, exitCode: 125 })
}

/** A file, whose name is gone at once where the system has `/proc`. */
function openText(text: string): SessionStdin {
  const directory = mkdtempSync(join(tmpdir(), 'nacre-stdin-'))
  const path = join(directory, 'text')
  const remove = () => rmSync(directory, { recursive: true, force: true })
  writeFileSync(path, text, { mode: 0o600 })
  if (process.platform !== 'linux') return { path, release: remove }
  const fd = openSync(path, 'r')
  remove()
  return { path: `/proc/${process.pid}/fd/${fd}`, release: () => closeSync(fd) }
}
