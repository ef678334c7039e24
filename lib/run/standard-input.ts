import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Stdin } from '../protocol/request/request.ts'
import type { FifoPool } from './pipe/fifo.ts'
import { makeFilledFolder } from '../system/temporary-folder.ts'

/** A standard input that is about to be given to a process. */
export interface StandardInput {
  stdin: number | 'ignore'
  /** The write end of an input that stays open; else null. Whoever takes it closes it. */
  writeFd: number | null
  /** Is called once the process has it. */
  release(): void
}

/** Opens what a request gives its process to read, other than an input that stays open. */
export function openStandardInput(stdin: Stdin): StandardInput {
  const plain = { writeFd: null, release: () => undefined }
  if (stdin.kind === 'descriptor') return { ...plain, stdin: stdin.fd }
  if (stdin.kind !== 'text') return { ...plain, stdin: 'ignore' }
  // A file without a name: any size, no writer that could be kept waiting, and `/dev/stdin` opens.
  const { text } = stdin
  const directory = makeFilledFolder('stdin', (folder) => {
    writeFileSync(join(folder, 'text'), text, { mode: 0o600 })
  })
  const fd = openSync(join(directory, 'text'), 'r')
  rmSync(directory, { recursive: true })
  return { ...plain, stdin: fd, release: () => closeSync(fd) }
}

/** Opens an input that is written to while the process runs (an open stdin). */
export async function openWritableInput(pipes: FifoPool): Promise<StandardInput> {
  const { readFd, writeFd } = await pipes.openInput()
  return { stdin: readFd, writeFd, release: () => closeSync(readFd) }
}
