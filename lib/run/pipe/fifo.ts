import { execFile } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, rmdirSync, unlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { StartError } from '../../protocol/ports.ts'
import { isScarce } from '../start-failure.ts'
import { findProgram, systemPath } from '../../system/look.ts'
import {
  describeNoPlace,
  isRefusedByPlace,
  listTemporaryPlaces,
  makeTemporaryFolder,
  removeTemporaryFolder,
} from '../../system/temporary-folder.ts'

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
  open(): Promise<Fifo>
  openInput(): Promise<InputFifo>
  close(): Promise<void>
}

/**
 * A pipe nobody uses: on Linux its open read end, elsewhere its name. While a pipe is in use the
 * one read end is its reader's, so that closing it is seen by whoever writes (SIGPIPE).
 */
type Idle = { fd: number } | { path: string }

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
  let batch: Promise<void> | null = null
  let closed = false

  async function make(): Promise<void> {
    const { directory, paths } = await (shared === null ? makeNamed() : makeNamedIn(shared.path))
    try {
      if (anonymous) for (const path of paths) free.push({ fd: openSync(path, readFlags) })
    } catch (error) {
      removePipes(directory, paths)
      throw error
    }
    if (anonymous) {
      removePipes(directory, paths)
      return
    }
    for (const path of paths) free.push({ path })
    if (shared === null) directories.push(directory)
  }

  function makeMore(): Promise<void> {
    batch ??= make().finally(() => {
      batch = null
    })
    return batch
  }

  async function take() {
    while (free.length === 0) await makeMore()
    const idle = free.pop() as Idle
    const readFd = 'fd' in idle ? idle.fd : openSync(idle.path, readFlags)
    const path = 'fd' in idle ? `/proc/${process.pid}/fd/${readFd}` : idle.path
    return { idle, readFd, path }
  }

  return {
    async open() {
      const { idle, readFd, path } = await take()
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
          free.push('fd' in idle ? { fd: openSync(path, readFlags) } : idle)
        },
      }
    },
    async openInput() {
      const { readFd: firstFd, path } = await take()
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
    async close() {
      closed = true
      await batch?.catch(() => undefined)
      for (const idle of free.splice(0)) if ('fd' in idle) closeSync(idle.fd)
      for (const directory of directories) removeTemporaryFolder(directory)
    },
  }
}

interface NamedFifos {
  directory: string
  paths: string[]
}

/** Makes some in a folder of their own, at the first temporary place that takes them. */
async function makeNamed(): Promise<NamedFifos> {
  const places = listTemporaryPlaces()
  const refusals: unknown[] = []
  for (const place of places) {
    let directory: string | null = null
    try {
      directory = makeTemporaryFolder('pipes', place)
      return await makeNamedIn(directory)
    } catch (error) {
      if (directory !== null) rmdirSync(directory)
      if (!(error instanceof PlaceRefused || isRefusedByPlace(error))) throw error
      refusals.push(error)
    }
  }
  throw describeNoPlace(places, refusals[0])
}

/** What mkfifo said of a place at which it can make no pipe. */
class PlaceRefused extends Error {}

/** Leaves none where it cannot make all of them. */
async function makeNamedIn(directory: string): Promise<NamedFifos> {
  const paths = Array.from({ length: perBatch }, () => join(directory, createId('pipe')))
  try {
    const mkfifo = findProgram('mkfifo', systemPath) ?? 'mkfifo'
    await promisify(execFile)(mkfifo, ['-m', '600', ...paths])
    return { directory, paths }
  } catch (error) {
    for (const path of paths) if (existsSync(path)) unlinkSync(path)
    // The system has refused to start it.
    if (isScarce(codeOf(error))) throw error
    const message = messageOf(error).trim().split('\n').at(-1) ?? ''
    if (codeOf(error) === null) throw new PlaceRefused(message)
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

/** One by one: to list a folder takes a descriptor, and there may be none left. */
function removePipes(directory: string, paths: readonly string[]): void {
  for (const path of paths) if (existsSync(path)) unlinkSync(path)
  rmdirSync(directory)
}
