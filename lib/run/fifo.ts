import { execFile } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'

/** A real pipe: child_process makes socket pairs, on which `/dev/stdout` and its like cannot be opened. */
export interface Fifo {
  /** Non-blocking. Whoever reads it closes it. */
  readonly readFd: number
  /** Blocking; for the standard output of a process. */
  readonly writeFd: number
  /** Closes our write end. Call it as soon as the process has ended; more calls do nothing. */
  closeWrite(): void
  /** Gives the pipe back. `reusable`: it was read to its end, so nobody else holds it. */
  release(reusable: boolean): void
}

export interface FifoPool {
  open(): Promise<Fifo>
  /** Makes pipes ahead of need, without waiting. */
  warm(): void
  close(): void
}

/** What the next `open` opens: on Linux a descriptor without a name, elsewhere a name. */
interface Anchor {
  path: string
  fd: number | null
}

const perBatch = 4

/**
 * Makes FIFOs several at once, since `mkfifo` is a process. On Linux their names are gone as soon as
 * they are open, so that nothing is left behind however nacre ends.
 */
export function createFifoPool(): FifoPool {
  const free: Anchor[] = []
  const directories: string[] = []
  let batch: Promise<void> | null = null
  let closed = false

  async function make(): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'nacre-pipes-'))
    const paths = Array.from({ length: perBatch }, (_, index) => join(directory, String(index)))
    try {
      await promisify(execFile)('mkfifo', ['-m', '600', ...paths])
    } catch (error) {
      rmSync(directory, { recursive: true, force: true })
      const message = `Cannot make pipes with mkfifo (is it installed?): ${messageOf(error)}`
      throw new StartError({ code: 'pipe_failed', message, exitCode: 125 })
    }
    if (process.platform === 'linux') {
      for (const path of paths) {
        const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
        free.push({ path: `/proc/self/fd/${fd}`, fd })
      }
      rmSync(directory, { recursive: true, force: true })
    } else {
      for (const path of paths) free.push({ path, fd: null })
      directories.push(directory)
    }
  }

  function refill(): Promise<void> {
    batch ??= make().finally(() => {
      batch = null
    })
    return batch
  }

  function discard(anchor: Anchor): void {
    if (anchor.fd !== null) closeSync(anchor.fd)
  }

  return {
    async open() {
      while (free.length === 0) await refill()
      const anchor = free.pop() as Anchor
      const readFd = openSync(anchor.path, constants.O_RDONLY | constants.O_NONBLOCK)
      const writeFd = openSync(anchor.path, constants.O_WRONLY)
      let writeOpen = true
      const closeWrite = () => {
        if (writeOpen) closeSync(writeFd)
        writeOpen = false
      }
      return {
        readFd,
        writeFd,
        closeWrite,
        release(reusable) {
          closeWrite()
          if (reusable && !closed) free.push(anchor)
          else discard(anchor)
        },
      }
    },
    warm() {
      // A failure here is met again, and told, by `open`.
      if (free.length === 0) refill().catch(() => undefined)
    },
    close() {
      closed = true
      for (const anchor of free.splice(0)) discard(anchor)
      for (const directory of directories) rmSync(directory, { recursive: true, force: true })
    },
  }
}
