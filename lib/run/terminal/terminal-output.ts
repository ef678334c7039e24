import { randomInt } from 'node:crypto'
import { writeSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../../protocol/deferred.ts'
import { nowMs } from '../../system/clock.ts'
import { codeOf } from '../../protocol/errors.ts'
import { watchTerminal } from '../../system/descriptor-watch.ts'
import { countBegun } from '../begun-mark.ts'
import type { TakeBytes } from '../pipe/pipe-reader.ts'

export interface TerminalOutput {
  /**
   * To be called when the program has ended: settles when all that it wrote was taken. What a process
   * that it left behind writes later is not waited for.
   */
  drain(): Promise<void>
  /** Closes the master: programs on the terminal are hung up. Settles when that is done. */
  close(): Promise<void>
  isOpen(): boolean
}

export interface TerminalListener {
  /** A returned promise pauses reading; `closed` closes the terminal. */
  take: TakeBytes
  onRead(): void
  /** The master is about to be closed: its number must not be used any more. */
  onClose(): void
}

/**
 * After the end of the program its last bytes are within the next so many: the kernel's buffers of a
 * terminal (8 KiB on Linux, `pty_common_install`) and the stream's own, with room to spare.
 */
const backlogMaxBytes = 1024 * 1024
/** A stopped terminal (Ctrl-S) takes no sentinel: how long without any progress to try. */
const refusedMs = 500
/** The kernel hands bytes over from a work queue; on a loaded machine that may take its time. */
const returnMs = 5000

/**
 * Reads a terminal and takes ownership of `master`. `slave` must be non-blocking and stay open until
 * `drain` has settled: while somebody holds the other side, the kernel drops nothing and the master
 * meets no end (libuv below 1.52 loses what is unread when it does).
 */
export function readTerminal(
  { master, slave }: { master: number; slave: number },
  listener: TerminalListener,
): TerminalOutput {
  const { promise: closedStream, resolve: tellClosed } = createDeferred()
  let received = 0
  let pending: Promise<void> | null = null
  let closed = false
  let filter: SentinelFilter | null = null

  // The other side is held open, so that no end comes by itself; whatever comes is the end.
  const stream = watchTerminal(
    master,
    (bytes, resume) => {
      received += bytes.length
      const goesOn = deliver(filter ? filter.push(bytes) : bytes, resume)
      if (!closed) listener.onRead()
      return goesOn
    },
    () => {
      void close()
      tellClosed()
    },
  )

  /** Gives bytes on; false means wait. */
  function deliver(bytes: Uint8Array, resume: () => void): boolean {
    if (closed || bytes.length === 0) return !closed
    const answer = listener.take(bytes)
    if (answer === 'closed') {
      void close()
      return false
    }
    if (answer === undefined) return true
    pending = answer.then((settled) => {
      pending = null
      if (settled === 'closed') void close()
      else if (!closed) resume()
    })
    return false
  }

  function close(): Promise<void> {
    if (!closed) {
      closed = true
      listener.onClose()
      stream.close()
    }
    return closedStream
  }

  /** False where it was not taken whole: the terminal is full, stopped, or hung up for good (EIO). */
  function writeSentinel(bytes: Uint8Array): boolean {
    try {
      return writeSync(slave, bytes) === bytes.length
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EAGAIN' || code === 'EIO') return false
      throw error
    }
  }

  async function drain(): Promise<void> {
    const sentinel = createSentinel()
    const search = createSentinelFilter(sentinel)
    filter = search
    const endAt = received + backlogMaxBytes
    let sent = false
    let progressAt = nowMs()
    let seen = -1
    while (!closed && !search.found && received < endAt) {
      if (pending || received > seen) {
        seen = received
        await pending
        progressAt = nowMs()
        await nextTurn()
        continue
      }
      // A whole turn of the event loop brought nothing: the buffers are empty, the sentinel has room.
      if (!sent) sent = writeSentinel(sentinel)
      const idleMs = nowMs() - progressAt
      if (idleMs > (sent ? returnMs : refusedMs)) break
      await (idleMs < 2 ? nextTurn() : delay(1))
    }
    stream.pause()
    if (!search.found) deliver(search.rest(), () => undefined)
    while (pending) await pending
  }

  return { drain, close, isOpen: () => !closed }
}

/** A private control string of digits, which no output mode of a terminal changes. */
function createSentinel(): Uint8Array {
  const digits = Array.from({ length: 24 }, () => randomInt(10)).join('')
  return Buffer.from(`\x1b]${digits}\x07`)
}

/** Passes a stream on up to a sentinel, which may come cut in pieces. */
interface SentinelFilter {
  readonly found: boolean
  /** What is certain not to be of the sentinel. Nothing after it has been found. */
  push(chunk: Uint8Array): Uint8Array
  /** What was held back, since it might have been the sentinel's beginning. */
  rest(): Uint8Array
}

export function createSentinelFilter(sentinel: Uint8Array): SentinelFilter {
  let held = Buffer.alloc(0)
  let found = false

  return {
    get found() {
      return found
    },
    push(chunk) {
      if (found) return Buffer.alloc(0)
      const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : Buffer.from(chunk)
      const at = bytes.indexOf(sentinel)
      found = at >= 0
      const end = found ? at : bytes.length - countBegun(bytes, sentinel)
      held = found ? Buffer.alloc(0) : bytes.subarray(end)
      return bytes.subarray(0, end)
    },
    rest() {
      const rest = held
      held = Buffer.alloc(0)
      return rest
    },
  }
}
