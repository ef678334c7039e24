import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Stdin } from '../protocol/request.ts'

/** A standard input that is about to be given to a process. */
export interface StandardInput {
  stdin: number | 'ignore'
  /** Once the process has it. */
  release(): void
}

/** Opens what a request gives its process to read. */
export function openStandardInput(stdin: Stdin): StandardInput {
  const release = () => undefined
  if (stdin.kind === 'descriptor') return { stdin: stdin.fd, release }
  if (stdin.kind !== 'text') return { stdin: 'ignore', release }
  // A file without a name: any size, no writer that could be kept waiting, and `/dev/stdin` opens.
  const directory = mkdtempSync(join(tmpdir(), 'nacre-stdin-'))
  const path = join(directory, 'text')
  writeFileSync(path, stdin.text, { mode: 0o600 })
  const fd = openSync(path, 'r')
  rmSync(directory, { recursive: true })
  return { stdin: fd, release: () => closeSync(fd) }
}
