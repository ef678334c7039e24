import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, MisuseError } from '../../protocol/errors.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import type { FifoPool } from './fifo.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'

/** What is written to a pipe, or a terminal, while its program runs. */
export interface PipeInput {
  /**
   * Writes a text after those before it. Settles when the pipe has taken all of it; rejects
   * with `MisuseError` where nobody reads any more.
   */
  write(data: string | Uint8Array): Promise<void>
  /** End of file, after what was written. */
  end(): void
  /** Gives up what is still to be written. */
  close(): void
}

/** Nothing tells when a full pipe has room again, so that it is tried after so long, and longer. */
const retryMs = { first: 1, longest: 16 }

/**
 * Writes to the non-blocking write end of a pipe, in order, and takes ownership of `fd`. `release` closes it, where
 * it is not this writer's to close.
 */
export function createPipeInput(fd: number, release = () => closeSync(fd)): PipeInput {
  let last: Promise<void> = Promise.resolve()
  let lost: MisuseError | null = null
  let ended = false
  let closed = false

  async function writeAll(bytes: Uint8Array): Promise<void> {
    let rest = bytes
    let pauseMs: number = retryMs.first
    while (rest.length > 0) {
      if (closed) throw unread()
      const written = writeNow(rest)
      rest = rest.subarray(written)
      if (written > 0) {
        pauseMs = retryMs.first
      } else {
        await delay(pauseMs)
        pauseMs = Math.min(retryMs.longest, pauseMs * 2)
      }
    }
  }

  function writeNow(bytes: Uint8Array): number {
    try {
      return writeSync(fd, bytes)
    } catch (error) {
      if (codeOf(error) === 'EAGAIN') return 0
      if (codeOf(error) === 'EPIPE') throw unread()
      throw error
    }
  }

  async function enqueue(step: () => void | Promise<void>): Promise<void> {
    last = last.then(step).catch((error: unknown) => {
      lost ??= error instanceof MisuseError ? error : unread()
      close()
    })
    await last
    if (lost) throw lost
  }

  function close(): void {
    if (closed) return
    closed = true
    release()
  }

  return {
    async write(data) {
      if (ended || closed) throw unread()
      await enqueue(() => writeAll(typeof data === 'string' ? Buffer.from(data) : data))
    },
    end() {
      ended = true
      // Whoever wrote hears what was not taken.
      enqueue(close).catch(() => undefined)
    },
    close,
  }
}

function unread(): MisuseError {
  return new MisuseError('no_input', 'The command reads no input any more')
}

/** A standard input that is about to be given to a process. */
export interface StandardInput {
  stdin: number | 'ignore'
  /** The write end of an input that stays open; else null. Whoever takes it closes it. */
  writeFd: number | null
  /** Is called once the process has it. */
  release(): void
}

/** Opens what a request gives its process to read. */
export function openStandardInput(stdin: Stdin, pipes: FifoPool): StandardInput {
  const plain = { writeFd: null, release: () => undefined }
  if (stdin.kind === 'open') {
    const { readFd, writeFd } = pipes.openInput()
    return { stdin: readFd, writeFd, release: () => closeSync(readFd) }
  }
  if (stdin.kind === 'descriptor') return { ...plain, stdin: stdin.fd }
  if (stdin.kind !== 'text') return { ...plain, stdin: 'ignore' }
  // A file without a name: any size, no writer that could be kept waiting, and `/dev/stdin` opens.
  const { text } = stdin
  const directory = makeTemporaryFolder('stdin', (folder) => {
    writeFileSync(join(folder, 'text'), text, { mode: 0o600 })
  })
  const fd = openSync(join(directory, 'text'), 'r')
  removeTemporaryFolder(directory)
  return { ...plain, stdin: fd, release: () => closeSync(fd) }
}
