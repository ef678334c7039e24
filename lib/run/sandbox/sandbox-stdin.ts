import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, read, readFileSync, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { StartError } from '../../protocol/ports.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import { isNullDevice, isTerminal, isUnnamedPipe } from '../../system/descriptors.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import { findProgram, systemPath } from '../../system/look.ts'
import { createPipeInput, type PipeInput } from '../pipe/pipe-input.ts'

/** A standard input through which nothing but its bytes can be reached. */
export interface SealedStdin {
  readonly stdin: Stdin
  /** Frees what was opened; it has to be called after the run. From its end on nothing is read any more. */
  release(): unknown
}

/**
 * `/proc/self/fd/0` opens anew what a descriptor leads to (proc(5)), with every right that its user
 * has: a file for writing, a folder and what lies above it, a disk. So a sandboxed run reads files,
 * devices and sockets through a pipe. A terminal and an unnamed pipe lead to nothing else and are
 * handed on as they are. Throws `StartError` for a folder.
 */
export async function sealStdin(stdin: Stdin, pipes: FifoPool): Promise<SealedStdin> {
  const asItIs = { stdin, release: () => undefined }
  if (stdin.kind !== 'descriptor') return asItIs
  const { fd } = stdin
  const stat = fstatSync(fd)
  if (stat.isDirectory()) {
    const message =
      'The standard input is a folder, through which a run could leave the sandbox; give it a file or nothing (</dev/null)'
    throw new StartError('stdin_is_folder', message)
  }
  if (isNullDevice(stat) || isTerminal(fd) || isUnnamedPipe(fd)) return asItIs
  const relay = await (stat.isFile() ? relayFile(fd, pipes) : relayStream(fd, pipes))
  return { stdin: { kind: 'descriptor', fd: relay.readFd }, release: () => relay.release() }
}

const chunkBytes = 64 * 1024

/**
 * A file is read by position, so that its descriptor, which the caller may share with others (`while
 * read … done < list`), moves on after the run by just what the run has read.
 */
async function relayFile(fd: number, pipes: FifoPool) {
  const { readFd, writeFd } = pipes.openInput()
  const input = createPipeInput(writeFd)
  void copy(fd, input)
  return {
    readFd,
    release() {
      input.close()
      skip(fd, input.countWritten() - skip(readFd, Infinity))
      closeSync(readFd)
    },
  }
}

const readAt = promisify(read)

/** Ends when the file does, or when nobody reads any more. */
async function copy(fd: number, input: PipeInput): Promise<void> {
  const bytes = Buffer.alloc(chunkBytes)
  const told = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')
  let position = Number(/^pos:\s*(\d+)$/m.exec(told)?.[1] ?? 0)
  try {
    for (;;) {
      const { bytesRead } = await readAt(fd, bytes, 0, chunkBytes, position)
      if (bytesRead === 0) break
      position += bytesRead
      await input.write(bytes.subarray(0, bytesRead))
    }
  } catch {
    // A run need not read its input, and an input that cannot be read ends here, as it does for cat(1).
  }
  input.end()
}

/** Reads over at most so many bytes, and gives how many there were. */
function skip(fd: number, mostBytes: number): number {
  const bytes = Buffer.alloc(chunkBytes)
  let done = 0
  while (done < mostBytes) {
    const count = readSync(fd, bytes, 0, Math.min(chunkBytes, mostBytes - done), null)
    if (count === 0) break
    done += count
  }
  return done
}

/** A device, a socket or a named pipe can only be read on: cat(1) does, until the run has ended. */
async function relayStream(fd: number, pipes: FifoPool) {
  const fifo = pipes.open()
  const readFd = openSync(fifo.path, 'r')
  closeSync(fifo.readFd)
  const cat = findProgram('cat', systemPath) ?? 'cat'
  const relay = spawn(cat, [], { env: {}, stdio: [fd, fifo.writeFd, 'ignore'] })
  const ended = new Promise<void>((resolve) => void relay.once('exit', () => resolve()))
  fifo.release(false)
  await once(relay, 'spawn').catch((error: unknown) => {
    closeSync(readFd)
    throw error
  })
  return {
    readFd,
    release() {
      closeSync(readFd)
      // Until it has ended it may take what comes next, which is not for this run.
      relay.kill('SIGKILL')
      return ended
    },
  }
}
