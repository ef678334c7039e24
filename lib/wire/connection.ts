import type { Socket } from 'node:net'
import { createDeferred } from '../protocol/deferred.ts'
import type { Readable } from 'node:stream'
import { messageOf } from '../protocol/errors.ts'
import { createLineReader, isBlankLine, parseJsonLine } from '../protocol/json-lines.ts'
import { type AllNotifications, maxLineBytes } from '../protocol/rpc/methods.ts'

/** Where the lines go. */
export interface Sink {
  /** Settles when the text is handed over; `closed` where it goes nowhere any more. */
  write(text: string): Promise<'closed' | void>
  readonly closed: boolean
}

/** While more than this waits to be read by the client, whoever streams output waits. */
const highWaterBytes = 1024 * 1024
/** While more than this waits to be read by the client, nothing is read from it. */
const stopReadingBytes = 16 * 1024 * 1024

/** The way to the client: whole lines, in the order of sending, never more in memory than it reads. */
export interface Connection {
  /** Sends one line. */
  send(line: string): void
  /**
   * Sends a line of a stream. A promise says that the client reads slowly: wait for it. `closed`:
   * nobody reads any more.
   */
  stream(line: string): 'closed' | void | Promise<'closed' | void>
  /** Null while there is room; else settles when there is room again. */
  waitToRead(): Promise<void> | null
  readonly closed: boolean
  /** Settles when the client has gone. */
  readonly gone: Promise<void>
  /** Frees everyone who waits: the connection is over. Settles when the client has read the rest. */
  end(): Promise<void>
}

export function createConnection(sink: Sink): Connection {
  let unsent: string[] = []
  let pendingChars = 0
  let ended = false
  let flushed = Promise.resolve()
  const waiting: { below: number; resume: () => void }[] = []
  const { promise: gone, resolve: leave } = createDeferred()

  /** What was sent in one turn of the event loop goes out in one write, but for long texts. */
  function flush(): void {
    if (unsent.length === 0) return
    const text = unsent.join('')
    unsent = []
    const written = sink.write(text).then((answer) => {
      pendingChars -= text.length
      if (answer === 'closed') {
        ended = true
        leave()
      }
      resumeWaiting()
    })
    flushed = Promise.all([flushed, written]).then(() => undefined)
  }

  function send(line: string): void {
    if (sink.closed) return
    if (unsent.length === 0) queueMicrotask(flush)
    unsent.push(line)
    pendingChars += line.length
    if (line.length > highWaterBytes) flush()
  }

  function resumeWaiting(): void {
    for (let index = waiting.length - 1; index >= 0; index--) {
      const wait = waiting[index]
      if (wait && (ended || pendingChars < wait.below)) {
        waiting.splice(index, 1)
        wait.resume()
      }
    }
  }

  function waitForRoom(below: number): Promise<void> {
    return new Promise((resume) => waiting.push({ below, resume }))
  }

  return {
    send,
    stream(line) {
      if (ended || sink.closed) return 'closed'
      send(line)
      if (pendingChars < highWaterBytes) return undefined
      return waitForRoom(highWaterBytes).then(() => (ended ? 'closed' : undefined))
    },
    waitToRead: () =>
      ended || pendingChars < stopReadingBytes ? null : waitForRoom(stopReadingBytes / 2),
    get closed() {
      return sink.closed
    },
    gone,
    end() {
      ended = true
      resumeWaiting()
      return flushed
    },
  }
}

/** The way to the other side of a socket. */
export function connectSocket(socket: Socket): Connection {
  return createConnection({
    write: (text) =>
      new Promise((resolve) => {
        if (socket.destroyed) resolve('closed')
        else socket.write(text, (error) => resolve(error ? 'closed' : undefined))
      }),
    get closed() {
      return socket.destroyed
    },
  })
}

/** Who takes the messages of one connection. */
export interface MessageReceiver {
  receive(message: unknown): void
  /** A line is no message; `start` is how it begins. */
  refuse(why: string, start: string): void
}

/** How much of a line that is no message is looked at. */
const lookedAtBytes = 1000

/** Passes on each line that comes, no faster than the answers are read. Settles at the end of the input. */
export function receiveMessages(
  input: Readable,
  connection: Connection,
  receiver: MessageReceiver,
): Promise<void> {
  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine(line) {
      if (isBlankLine(line)) return
      let message: unknown
      try {
        message = parseJsonLine(line)
      } catch (error) {
        const start = new TextDecoder().decode(line.subarray(0, lookedAtBytes))
        receiver.refuse(messageOf(error).slice(0, 200), start)
        return
      }
      receiver.receive(message)
    },
    onTooLong: () => receiver.refuse(`A line must not be longer than ${maxLineBytes} bytes`, ''),
  })
  return new Promise((resolve) => {
    input.on('data', (chunk: Buffer) => {
      reader.write(chunk)
      const room = connection.waitToRead()
      if (room === null) return
      input.pause()
      void room.then(() => input.resume())
    })
    input.once('end', () => {
      reader.end()
      resolve()
    })
    // A terminal that is gone, a directory, a socket whose other side was killed: nothing more comes.
    input.on('error', () => resolve())
    input.once('close', () => resolve())
  })
}

/** A notification of the server as a line. */
export function notification<Name extends keyof AllNotifications>(
  method: Name,
  params: AllNotifications[Name],
): string {
  return `${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`
}
