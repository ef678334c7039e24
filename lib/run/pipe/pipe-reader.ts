import { closeSync, readSync } from 'node:fs'
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net'
import { codeOf } from '../../protocol/errors.ts'
import type { ListenerAnswer } from '../../protocol/event.ts'

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
  readonly closed: boolean
}

const bufferBytes = 64 * 1024
/** A pipe holds at most this much (pipe-max-size of an ordinary user, proc(5)). */
const pipeMaxBytes = 1024 * 1024

/** Reads the non-blocking read end of a FIFO while its writers run, and takes ownership of `fd`. */
export function readPipe(fd: number, take: TakeBytes): PipeReader {
  const buffer = new Uint8Array(bufferBytes)
  let pending: Promise<unknown> | null = null
  let dropping = false
  let closed = false
  let ended = false

  /** Gives bytes on; false means wait. */
  function give(count: number, resume: () => void): boolean {
    if (dropping) return true
    const answer = take(buffer.subarray(0, count))
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

  const watch = 'Deno' in globalThis ? pollPipe : watchPipe
  const watcher = watch(fd, buffer, give, onClose)

  /** From here on its number may be another file's. */
  function onClose(): void {
    closed = true
    ended = true
  }

  function close(): void {
    if (closed) return
    onClose()
    watcher.close()
  }

  return {
    async drain() {
      ended = true
      watcher.pause()
      let taken = 0
      for (;;) {
        while (pending) await pending
        if (closed) return false
        const count = readNow(fd, buffer)
        if (count === 'empty') return false
        if (count === 0) return true
        taken += count
        give(count, () => undefined)
        if (taken >= pipeMaxBytes) return false
      }
    },
    leave() {
      if (closed) return
      dropping = true
      ended = false
      watcher.unref()
      watcher.resume()
    },
    close,
    get closed() {
      return closed
    },
  }
}

/** The count of bytes read, 0 at the end, or `empty` where a writer may still come. */
export function readNow(fd: number, buffer: Uint8Array): number | 'empty' {
  try {
    return readSync(fd, buffer)
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return 'empty'
    throw error
  }
}

interface Watcher {
  pause(): void
  resume(): void
  unref(): void
  close(): void
}

type Watch = (
  fd: number,
  buffer: Uint8Array,
  give: (count: number, resume: () => void) => boolean,
  onClose: () => void,
) => Watcher

/** Node: the event loop tells, and one buffer serves every read. */
const watchPipe: Watch = (fd, buffer, give, onClose) => {
  const onread: OnReadOpts = {
    buffer,
    callback: (count) => give(count, () => socket.resume()),
  }
  const options: SocketConstructorOpts = { fd, readable: true, writable: false }
  const socket = new Socket(Object.assign(options, { onread }))
  // Its end and an error close it.
  socket.on('error', () => socket.destroy())
  socket.on('close', onClose)
  socket.resume()
  return {
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    unref: () => socket.unref(),
    close: () => socket.destroy(),
  }
}

/** Deno 2.9 refuses `net.Socket({ fd })` on a FIFO (EEXIST): look again and again, at most 8 ms apart. */
const pollPipe: Watch = (fd, buffer, give, onClose) => {
  let timer: NodeJS.Timeout | undefined
  let paused = false
  let delayMs = 0
  let unreferenced = false
  let closed = false

  function close(): void {
    if (closed) return
    closed = true
    paused = true
    clearTimeout(timer)
    closeSync(fd)
    onClose()
  }

  function look(): void {
    for (let turn = 0; turn < 16 && !paused; turn++) {
      const count = readNow(fd, buffer)
      if (count === 0) {
        // Left alone: nobody will close it later.
        if (unreferenced) close()
        return
      }
      if (count === 'empty') {
        delayMs = Math.min(8, delayMs + 1)
        break
      }
      delayMs = 0
      if (!give(count, resume)) return
    }
    if (!paused) schedule()
  }
  function schedule(): void {
    timer = setTimeout(look, delayMs)
    if (unreferenced) timer.unref()
  }
  function resume(): void {
    if (closed) return
    paused = false
    clearTimeout(timer)
    schedule()
  }
  schedule()
  return {
    pause() {
      paused = true
      clearTimeout(timer)
    },
    resume,
    unref() {
      unreferenced = true
      timer?.unref()
    },
    close,
  }
}
