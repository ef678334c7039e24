import { closeSync, readSync } from 'node:fs'
import type * as net from 'node:net'
import { codeOf } from '../protocol/errors.ts'
import { loadTty } from './descriptors.ts'
import { bun, isDeno } from './runtime.ts'

/** A reader of a descriptor, which gives bytes on as they come. */
export interface DescriptorWatch {
  pause(): void
  resume(): void
  /**
   * What the runtime has read already and not given on; null: nothing, so that what is missing is
   * still in the descriptor. To be called while it pauses. Absent where a runtime never reads ahead.
   */
  readonly ahead?: () => Promise<Uint8Array | null>
  /** Goes on without keeping the process alive: another watch does, where one is given. */
  unref(): DescriptorWatch | void
  /** Closes the descriptor too. */
  close(): void
}

/** Takes bytes, whose memory is used again afterwards; false means wait, until `resume` is called. */
export type Give = (bytes: Uint8Array, resume: () => void) => boolean

/**
 * Reads a non-blocking pipe or FIFO as bytes come, and takes ownership of `fd`. `onClose` hears when
 * it has been closed: by `close`, at its end, or after an error.
 */
export function watchDescriptor(
  fd: number,
  buffer: Uint8Array,
  give: Give,
  onClose: () => void,
): DescriptorWatch {
  if (bun !== null) {
    return streamDescriptor(bun.file(fd).stream().getReader(), fd, buffer, give, onClose)
  }
  // Deno 2.9 refuses `net.Socket({ fd })` on a FIFO (EEXIST).
  if (isDeno) return pollDescriptor(fd, buffer, give, onClose, pollMs)
  return listenToDescriptor(fd, buffer, give, onClose)
}

/** The same for the master of a terminal. */
export function watchTerminal(fd: number, give: Give, onClose: () => void): DescriptorWatch {
  if (bun !== null) {
    const reader = bun.file(fd).stream().getReader()
    return streamDescriptor(reader, fd, new Uint8Array(0), give, onClose)
  }
  const stream = new (loadTty().ReadStream)(fd)
  let isTaking = false
  stream.on('data', (chunk: Buffer) => {
    // Also emitted for what is taken by `read`.
    if (!isTaking && !give(chunk, () => stream.resume())) stream.pause()
  })
  stream.on('error', () => stream.destroy())
  stream.on('close', onClose)
  return {
    pause: () => stream.pause(),
    resume: () => stream.resume(),
    async ahead() {
      isTaking = true
      const bytes = stream.read() as Buffer | null
      isTaking = false
      return bytes
    },
    unref: () => void stream.unref(),
    close: () => stream.destroy(),
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

/** Node: the event loop tells, and one buffer serves every read. */
function listenToDescriptor(
  fd: number,
  buffer: Uint8Array,
  give: Give,
  onClose: () => void,
): DescriptorWatch {
  const { Socket } = process.getBuiltinModule('node:net')
  const onread: net.OnReadOpts = {
    buffer,
    callback: (count) => give(buffer.subarray(0, count), () => socket.resume()),
  }
  const options: net.SocketConstructorOpts = { fd, readable: true, writable: false }
  const socket = new Socket(Object.assign(options, { onread }))
  // Its end and an error close it.
  socket.on('error', () => socket.destroy())
  socket.on('close', onClose)
  socket.resume()
  return {
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    unref: () => void socket.unref(),
    close: () => socket.destroy(),
  }
}

/** How far apart two looks are, where nothing tells that there are bytes. */
const pollMs = 4
/** Bun leaves a pipe on the floor that nobody waits for: it may sleep so long between two looks. */
const unwatchedMs = 250

type StreamReader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>

/**
 * Bun 1.4: `net.Socket({ fd })` stops for good once a pipe has been full. A stream of the file waits
 * in the event loop; it reads a little ahead, through a descriptor of its own.
 */
function streamDescriptor(
  reader: StreamReader,
  fd: number,
  buffer: Uint8Array,
  give: Give,
  onClose: () => void,
): DescriptorWatch {
  /** What was read and not given on; nothing comes after an undefined one. */
  const arrived: (Uint8Array | undefined)[] = []
  let asking = false
  let paused = false
  let closed = false

  async function ask(): Promise<void> {
    if (asking) return
    asking = true
    const { value } = await reader.read().catch(() => ({ value: undefined }))
    asking = false
    arrived.push(value)
    deliver()
  }

  function deliver(): void {
    while (!paused && !closed) {
      if (arrived.length === 0) return void ask()
      const [bytes] = arrived
      if (bytes === undefined) return close()
      arrived.shift()
      if (!give(bytes, deliver)) return
    }
  }

  function close(): void {
    if (closed) return
    closed = true
    // The stream's own descriptor goes with it.
    void reader.cancel().catch(() => undefined)
    closeSync(fd)
    onClose()
  }

  deliver()
  return {
    pause() {
      paused = true
    },
    resume() {
      paused = false
      deliver()
    },
    async ahead() {
      if (arrived.length === 0 && !asking) {
        void ask()
        // What it holds it gives at once; what it waits for comes in a later turn.
        await new Promise((resolve) => setImmediate(resolve))
      }
      const [bytes] = arrived
      return bytes === undefined ? null : (arrived.shift() ?? null)
    },
    unref() {
      // A stream cannot be told not to keep the process alive. Its end after a cancel is not that of the pipe.
      closed = true
      void reader.cancel().catch(() => undefined)
      const unwatched = pollDescriptor(fd, buffer, give, onClose, unwatchedMs)
      unwatched.unref()
      return unwatched
    },
    close,
  }
}

/** Looks again and again. */
function pollDescriptor(
  fd: number,
  buffer: Uint8Array,
  give: Give,
  onClose: () => void,
  everyMs: number,
): DescriptorWatch {
  const timer = setInterval(look, everyMs)
  let paused = false
  let unreferenced = false
  let closed = false

  function close(): void {
    if (closed) return
    closed = true
    clearInterval(timer)
    closeSync(fd)
    onClose()
  }

  function resume(): void {
    paused = false
  }

  function look(): void {
    for (let turn = 0; turn < 16 && !paused && !closed; turn++) {
      const count = readNow(fd, buffer)
      if (count === 'empty') return
      if (count === 0) {
        // Left alone: nobody will close it later.
        if (unreferenced) close()
        return
      }
      if (!give(buffer.subarray(0, count), resume)) paused = true
    }
  }

  return {
    pause() {
      paused = true
    },
    resume,
    unref() {
      unreferenced = true
      timer.unref()
    },
    close,
  }
}
