import { createDeferred } from '../../protocol/deferred.ts'
import type { ListenerAnswer } from '../../protocol/result/event.ts'
import {
  type DescriptorWatch,
  type Give,
  readNow,
  watchDescriptor,
} from '../../system/descriptor-watch.ts'

/** What is done with bytes. Their memory is used again once the answer has settled. */
export type TakeBytes = (bytes: Uint8Array) => ListenerAnswer | Promise<ListenerAnswer>

export interface PipeReader {
  /**
   * Reads what is in the pipe now and gives it on; settles when all of it was taken. Reading as it
   * comes has ended by then. True: nobody holds the write end any more (close yours first).
   */
  drain(): Promise<boolean>
  /** Goes on reading what others still write, and drops it, without keeping nacre alive. */
  leave(): void
  close(): void
  /** Also by its own end, by an error, or since nobody listens. */
  isClosed(): boolean
  /** Settles when the descriptor is closed. */
  readonly closed: Promise<void>
}

export const bufferBytes = 64 * 1024
/** A pipe holds at most this much (pipe-max-size of an ordinary user, proc(5)). */
const pipeMaxBytes = 1024 * 1024

/**
 * Reads what is in a pipe without going through the event loop, until `take` answers `closed`. `ahead` gives what the
 * runtime has read already. True: nobody holds the write end any more.
 */
export async function readRest(
  fd: number,
  buffer: Uint8Array,
  take: TakeBytes,
  ahead?: DescriptorWatch['ahead'],
): Promise<boolean> {
  for (let taken = 0; taken < pipeMaxBytes;) {
    const early = ahead ? await ahead() : null
    const count = early === null ? readNow(fd, buffer) : early.length
    if (count === 'empty') return false
    if (count === 0) return true
    taken += count
    const answer = take(early ?? buffer.subarray(0, count))
    if ((typeof answer === 'object' ? await answer : answer) === 'closed') return false
  }
  return false
}

/**
 * Reads the non-blocking read end of a FIFO while its writers run, and takes ownership of `fd`. `buffer`
 * is the reader's own until that is closed.
 */
export function readPipe(
  fd: number,
  take: TakeBytes,
  buffer = new Uint8Array(bufferBytes),
): PipeReader {
  const watch = (give: Give, onClose: () => void) => watchDescriptor(fd, buffer, give, onClose)
  return readWatched({ fd, take, buffer, watch })
}

interface WatchedSource {
  /** Non-blocking. */
  fd: number
  take: TakeBytes
  /** In which bytes may stand that are given on. */
  buffer: Uint8Array
  /** Begins to watch the descriptor, which the watch closes. */
  watch: (give: Give, onClose: () => void) => DescriptorWatch
  /** Is called before the number of the descriptor can be another file's. */
  onClose?: () => void
}

/** Reads a descriptor while it is watched. */
export function readWatched({ fd, take, buffer, ...source }: WatchedSource): PipeReader {
  const { promise: whenClosed, resolve: tellClosed } = createDeferred()
  let pending: Promise<unknown> | null = null
  let dropping = false
  let closed = false
  let ended = false

  /** Gives bytes on; false means wait. */
  function give(bytes: Uint8Array, resume: () => void): boolean {
    if (dropping) return true
    const answer = take(bytes)
    if (answer === 'closed') {
      close()
      return false
    }
    if (answer === undefined) return true
    pending = answer.then((settled) => {
      pending = null
      if (settled === 'closed') close()
      else if (!ended) resume()
    })
    return false
  }

  let watch = source.watch(give, () => {
    end()
    tellClosed()
  })

  function end(): void {
    if (closed) return
    closed = true
    ended = true
    source.onClose?.()
  }

  function close(): void {
    if (closed) return
    end()
    watch.close()
  }

  return {
    async drain() {
      ended = true
      watch.pause()
      while (pending) await pending
      const offer: TakeBytes = async (bytes) => {
        const answer = await take(bytes)
        if (answer === 'closed') close()
        return closed ? 'closed' : answer
      }
      return closed ? false : readRest(fd, buffer, offer, watch.ahead)
    },
    leave() {
      if (closed) return
      dropping = true
      ended = false
      watch = watch.unref() ?? watch
      watch.resume()
    },
    close,
    isClosed: () => closed,
    closed: whenClosed,
  }
}
