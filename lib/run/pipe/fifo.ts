import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, rmdirSync, unlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { StartError } from '../../protocol/ports.ts'
import { isScarce } from '../start-failure.ts'
import { findProgram, systemPath } from '../../system/look.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'

/** A real pipe: child_process makes socket pairs, on which `/dev/stdout` and its like cannot be opened. */
export interface Fifo {
  /** Under which another process of this user can open it, as long as `readFd` is open. */
  readonly path: string
  /** The same for a process that sees the pool's folder elsewhere. */
  readonly seenAs: string
  /** Non-blocking. Whoever reads it closes it. */
  readonly readFd: number
  /** Blocking; for the standard output of a process. */
  readonly writeFd: number
  /** Closes our write end. Call it as soon as the process has ended; more calls do nothing. */
  closeWrite(): void
  /**
   * Gives the pipe back, before its read end is closed. `reusable`: it was read to its end, so
   * nobody else holds it.
   */
  release(reusable: boolean): void
}

/** A pipe for the standard input of a process that is written to while it runs. */
export interface InputFifo {
  /** Blocking; close it once the process has it. */
  readonly readFd: number
  /** Non-blocking; whoever writes closes it. */
  readonly writeFd: number
}

export interface FifoPool {
  open(): Fifo
  openInput(): InputFifo
  close(): void
}

/** A pipe nobody uses. Whoever takes it has the one read end, so that whoever writes sees that closed (SIGPIPE). */
interface Idle {
  readFd: number
  path: string
}

/** A folder in which pipes keep their names, for processes that see little else. */
export interface SharedFolder {
  path: string
  /** Its name for those processes. */
  seenAs: string
}

const readFlags = constants.O_RDONLY | constants.O_NONBLOCK
const perBatch = 4
const maxIdle = 16

/**
 * Makes FIFOs several at once, since `mkfifo` is a process. On Linux their names are gone as soon as
 * they are open, so that nothing is left behind however nacre ends. In a `shared` folder, which somebody
 * else removes, they keep them.
 */
export function createFifoPool(shared: SharedFolder | null = null): FifoPool {
  const anonymous = process.platform === 'linux' && shared === null
  const free: Idle[] = []
  const directories: string[] = []
  let closed = false

  function hold(name: string): void {
    const readFd = openSync(name, readFlags)
    free.push({ readFd, path: anonymous ? `/proc/${process.pid}/fd/${readFd}` : name })
  }

  function makeMore(): void {
    if (shared !== null) return makeNamed(shared.path).forEach(hold)
    const directory = makeTemporaryFolder('pipes', (folder) => {
      const names = makeNamed(folder)
      try {
        names.forEach(hold)
      } finally {
        // All of them: without a descriptor only an empty folder can be removed.
        if (anonymous) names.forEach((name) => unlinkSync(name))
      }
    })
    if (anonymous) rmdirSync(directory)
    else directories.push(directory)
  }

  function take(): Idle {
    if (free.length === 0) makeMore()
    return free.pop() as Idle
  }

  return {
    open() {
      const { readFd, path } = take()
      const writeFd = openWriteEnd(path, constants.O_WRONLY, readFd)
      let writeOpen = true
      const closeWrite = () => {
        if (writeOpen) closeSync(writeFd)
        writeOpen = false
      }
      return {
        path,
        seenAs: shared === null ? path : join(shared.seenAs, basename(path)),
        readFd,
        writeFd,
        closeWrite,
        release(reusable) {
          closeWrite()
          if (!reusable || closed || free.length >= maxIdle) return
          try {
            hold(path)
          } catch {
            // Its folder is gone, or there is no descriptor left: it is not used again.
          }
        },
      }
    },
    openInput() {
      const { readFd: firstFd, path } = take()
      // A blocking read end waits for nobody here: the write end is open already.
      const writeFd = openWriteEnd(path, constants.O_WRONLY | constants.O_NONBLOCK, firstFd)
      try {
        return { readFd: openSync(path, constants.O_RDONLY), writeFd }
      } catch (error) {
        closeSync(writeFd)
        throw error
      } finally {
        closeSync(firstFd)
      }
    },
    close() {
      closed = true
      for (const { readFd } of free.splice(0)) closeSync(readFd)
      for (const directory of directories) removeTemporaryFolder(directory)
    },
  }
}

/** Makes some in a folder. Throws an error by which the folder counts as refused by its place if that takes none. */
function makeNamed(directory: string): string[] {
  const paths = Array.from({ length: perBatch }, () => join(directory, createId('pipe')))
  try {
    const mkfifo = findProgram('mkfifo', systemPath) ?? 'mkfifo'
    execFileSync(mkfifo, ['-m', '600', ...paths], { stdio: ['ignore', 'ignore', 'pipe'] })
    return paths
  } catch (error) {
    // The system has refused to start it. Deno does not say why, which is mostly that no descriptor is left.
    const isUnstarted = (error as { status?: number | null }).status === undefined
    const code = codeOf(error) ?? (isUnstarted ? 'EMFILE' : null)
    if (isScarce(code)) throw Object.assign(error as Error, { code })
    const message = messageOf(error).trim().split('\n').at(-1) ?? ''
    if (code === null) throw Object.assign(new Error(message), { code: 'EPERM' })
    const missing = `Pipes are made by mkfifo, which could not be started; install it: ${message}`
    throw new StartError('pipe_failed', missing)
  }
}

/** Where the system refuses it, the other end is closed too. */
function openWriteEnd(path: string, flags: number, readFd: number): number {
  try {
    return openSync(path, flags)
  } catch (error) {
    closeSync(readFd)
    throw error
  }
}
