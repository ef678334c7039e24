import { closeSync, fstatSync } from 'node:fs'
import { watchTerminal } from '../../system/descriptor-watch.ts'
import { createPipeInput } from '../pipe/pipe-input.ts'
import { bufferBytes, readWatched, type TakeBytes } from '../pipe/pipe-reader.ts'
import type { InputKind } from '../../protocol/result/result.ts'
import type { FileIdentity } from '../../system/process/process-table.ts'
import type { PtyParts, PtyProcess } from './start.ts'
import { createTerminalWatch } from './waiting-for-input.ts'

/** The terminal of a program that runs. */
export interface AttachedTerminal {
  /** Queues what is typed. Settles when the terminal has taken all of it, or is closed. */
  type(input: string | Uint8Array): Promise<void>
  resize(columns: number, rows: number): void
  /** Whether, and how, a program waits for what is typed. */
  look(): InputKind | null
  /** The identity of the terminal, by which its processes are found. */
  files(): readonly FileIdentity[]
  /**
   * To be called when the program has ended: settles when all that it wrote was taken. What a process
   * that it left behind writes later is not waited for.
   */
  drain(): Promise<void>
  /** Programs on the terminal are hung up. Settles when that is done. */
  close(): Promise<void>
}

/**
 * Reads and writes a terminal, and takes ownership of both of its sides. `take`: a returned promise pauses
 * reading, `closed` closes the terminal. The slave stays open until `close`: while somebody holds the other
 * side, the kernel drops nothing and the master meets no end (libuv below 1.52 loses what is unread when it does).
 */
export function attachTerminal(
  { pid, master, slave, path }: Pick<PtyProcess, 'pid' | 'master' | 'slave' | 'path'>,
  { calls, uninherited }: Pick<PtyParts, 'calls' | 'uninherited'>,
  take: TakeBytes,
): AttachedTerminal {
  const input = createPipeInput(master, () => undefined)
  let files: FileIdentity[] = [fstatSync(slave)]
  // The other side is held open, so that no end comes by itself; whatever comes is the end.
  const reader = readWatched({
    fd: master,
    take,
    buffer: new Uint8Array(bufferBytes),
    watch: (give, onClose) => watchTerminal(master, give, onClose),
    onClose() {
      input.close()
      uninherited.delete(master)
    },
  })

  return {
    // A terminal that is closed takes what is typed and drops it.
    type: (text) => input.write(text).catch(() => undefined),
    resize(columns, rows) {
      if (!reader.isClosed()) calls.resize(master, columns, rows)
    },
    look: createTerminalWatch(pid, path),
    files: () => files,
    async drain() {
      input.close()
      // Before a read finds nothing, the kernel delivers everything that was written (n_tty_read).
      await reader.drain()
    },
    async close() {
      reader.close()
      await reader.closed
      // Its number may be another's from here on.
      files = []
      closeSync(slave)
    },
  }
}
