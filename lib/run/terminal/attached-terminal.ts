import { closeSync, fstatSync } from 'node:fs'
import { createDeferred } from '../../protocol/deferred.ts'
import { readNow, watchTerminal } from '../../system/descriptor-watch.ts'
import type { TakeBytes } from '../pipe/pipe-reader.ts'
import type { InputKind } from '../../protocol/result/result.ts'
import type { FileIdentity } from '../../system/process/process-table.ts'
import type { PtyParts, PtyProcess } from './start.ts'
import { createTerminalInput } from './terminal-input.ts'
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

/** What a background job that writes on and on may add at the end of the program. */
const backlogMaxBytes = 1024 * 1024

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
  const { promise: closedStream, resolve: tellClosed } = createDeferred()
  const input = createTerminalInput(master)
  let files: FileIdentity[] = [fstatSync(slave)]
  let pending: Promise<void> | null = null
  let closed = false
  let draining = false

  // The other side is held open, so that no end comes by itself; whatever comes is the end.
  const stream = watchTerminal(
    master,
    (bytes, resume) => {
      const goesOn = deliver(bytes, resume)
      // A program that writes may have read.
      if (!closed) input.flush()
      return goesOn
    },
    () => {
      hangUp()
      tellClosed()
    },
  )

  /** Gives bytes on; false means wait. */
  function deliver(bytes: Uint8Array, resume: () => void): boolean {
    if (closed) return false
    const answer = take(bytes)
    if (answer === 'closed') {
      hangUp()
      return false
    }
    if (answer === undefined) return true
    pending = answer.then((settled) => {
      pending = null
      if (settled === 'closed') hangUp()
      else if (!closed && !draining) resume()
    })
    return false
  }

  function hangUp(): void {
    if (closed) return
    closed = true
    input.close()
    uninherited.delete(master)
    stream.close()
  }

  /** A read that finds nothing has had the kernel hand over all that was written (n_tty_read). */
  async function drain(): Promise<void> {
    input.close()
    draining = true
    stream.pause()
    const buffer = new Uint8Array(64 * 1024)
    for (let taken = 0; taken < backlogMaxBytes;) {
      while (pending) await pending
      if (closed) return
      const early = (await stream.ahead?.()) ?? null
      const count = early === null ? readNow(master, buffer) : early.length
      if (count === 'empty' || count === 0) return
      taken += count
      deliver(early ?? buffer.subarray(0, count), () => undefined)
    }
    while (pending) await pending
  }

  return {
    type: (text) => input.type(text),
    resize(columns, rows) {
      if (!closed) calls.resize(master, columns, rows)
    },
    look: createTerminalWatch(pid, path),
    files: () => files,
    drain,
    async close() {
      hangUp()
      await closedStream
      // Its number may be another's from here on.
      files = []
      closeSync(slave)
    },
  }
}
