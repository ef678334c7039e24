import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { createDeferred } from '../protocol/deferred.ts'
import { messageOf } from '../protocol/errors.ts'
import { createLineReader, isBlankLine, parseJsonLine } from './json-lines.ts'
import { maxLineBytes } from '../protocol/rpc/methods.ts'

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
  /** Undefined while there is room; else settles when there is room again. */
  waitToRead(): Promise<void> | undefined
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
  let waiting: { below: number; resume: () => void }[] = []
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
    const hasRoom = (below: number) => ended || pendingChars < below
    const resumed = waiting.filter(({ below }) => hasRoom(below))
    waiting = waiting.filter(({ below }) => !hasRoom(below))
    for (const { resume } of resumed) resume()
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
      ended || pendingChars < stopReadingBytes ? undefined : waitForRoom(stopReadingBytes / 2),
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
  /** While a promise waits, nothing more is taken. */
  receive(message: unknown): unknown
  /** A line is no message; `start` is how it begins. */
  refuse(why: string, start: string): void
}

/** How much of a line that is no message is looked at. */
const lookedAtBytes = 1000

/**
 * Passes on each line that comes, in their order, while one is being taken no other. `whenTaken` calls back when
 * those that have come so far are taken.
 */
export function readMessages(
  input: Readable,
  receiver: MessageReceiver,
): { whenTaken(done: () => void): void; end(): void } {
  const queue: (() => unknown)[] = []
  let isTaking = false

  function take(): void {
    while (!isTaking && queue.length > 0) {
      const taken = queue.shift()?.()
      if (!(taken instanceof Promise)) continue
      isTaking = true
      input.pause()
      void taken.then(() => {
        isTaking = false
        input.resume()
        take()
      })
    }
  }

  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine(line) {
      if (isBlankLine(line)) return
      let message: unknown
      try {
        message = parseJsonLine(line)
      } catch (error) {
        const start = new TextDecoder().decode(line.subarray(0, lookedAtBytes))
        const why = messageOf(error).slice(0, 200)
        queue.push(() => receiver.refuse(why, start))
        return
      }
      queue.push(() => receiver.receive(message))
    },
    onTooLong() {
      const why = `A line must not be longer than ${maxLineBytes} bytes`
      queue.push(() => receiver.refuse(why, ''))
    },
  })
  input.on('data', (chunk: Buffer) => {
    reader.write(chunk)
    take()
  })
  return {
    whenTaken(done) {
      queue.push(done)
      take()
    },
    end: () => reader.end(),
  }
}

/** Passes on what comes, no faster than the answers are read. Settles at the end of the input. */
export function receiveMessages(
  input: Readable,
  connection: Connection,
  receiver: MessageReceiver,
): Promise<void> {
  const messages = readMessages(input, {
    receive(message) {
      receiver.receive(message)
      return connection.waitToRead()
    },
    refuse: (why, start) => receiver.refuse(why, start),
  })
  return new Promise((resolve) => {
    input.once('end', () => {
      messages.end()
      messages.whenTaken(resolve)
    })
    // A terminal that is gone, a directory, a socket whose other side was killed: nothing more comes.
    input.on('error', () => resolve())
    input.once('close', () => resolve())
  })
}
