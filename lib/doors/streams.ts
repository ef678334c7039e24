import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { codeOf, messageOf, MisuseError } from '../protocol/errors.ts'
import { isNullDevice, isTerminal, statDescriptor } from '../system/descriptors.ts'

/** The three standard streams of nacre, as a front door gets them. */
export interface Streams {
  stdin: NodeJS.ReadStream
  stdout: Writer
  stderr: Writer
  /** What is on descriptor 0; `empty` is `/dev/null`, which Node also puts where it was closed. */
  input: 'terminal' | 'given' | 'empty'
}

/** A stream that is written to the end or found closed, never silently cut. */
export interface Writer {
  /**
   * Settles when the bytes are handed over; then their memory may be used again. `closed` where
   * they go nowhere any more: nobody reads (EPIPE), and ending quietly is right, or `failure`.
   */
  write(data: string | Uint8Array): Promise<'closed' | void>
  readonly closed: boolean
  /** Why it could not be written where somebody still wants it (a full disk); else null. */
  readonly failure: string | null
  readonly isTerminal: boolean
  /** A socket cannot be opened by name, as a command may want of `/dev/stdout` (unix(7)). */
  readonly isSocket: boolean
  /** The size of the terminal; null where the stream is none. */
  size(): { columns: number; rows: number } | null
  /** Gives what ends the listening. */
  onResize(listener: () => void): () => void
}

/** What a stream says where its reader is gone. */
const readerIsGone = ['EPIPE', 'ECONNRESET', 'EIO', 'ERR_STREAM_DESTROYED']

/** A writer over a stream that is opened at its first write. */
function createLazyWriter(open: () => NodeJS.WriteStream, fd: number): Writer {
  let stream: NodeJS.WriteStream | null = null
  let closed = false
  let failure: string | null = null
  const isFile = statDescriptor(fd)?.isFile() ?? false

  function openStream(): NodeJS.WriteStream {
    const opened = open()
    opened.on('error', close)
    return opened
  }

  function close(error: unknown): void {
    closed = true
    const code = codeOf(error) ?? ''
    if (!isFile && readerIsGone.includes(code)) return
    // Deno leaves the name of the error out of its message.
    const message = messageOf(error)
    failure ??= message.startsWith(code) ? message : `${code}: ${message}`
  }

  function write(data: string | Uint8Array): Promise<void> {
    const target = (stream ??= openStream())
    const written = new Promise<void>((resolve) => {
      target.write(data, (error) => {
        if (error) close(error)
        resolve()
      })
    })
    // Deno writes synchronously here, and throws where that fails.
    return written.catch(close)
  }

  return {
    async write(data) {
      if (closed) return 'closed'
      if (isFile) {
        try {
          writeWhole(fd, data)
        } catch (error) {
          close(error)
        }
      } else {
        const rest = stream === null ? writeAtOnce(fd, data) : data
        if (rest.length > 0) await write(rest)
      }
      return closed ? 'closed' : undefined
    },
    get failure() {
      return failure
    },
    get closed() {
      return closed
    },
    get isSocket() {
      return statDescriptor(fd)?.isSocket() ?? false
    },
    get isTerminal() {
      return isTerminal(fd)
    },
    size() {
      const target: NodeJS.WriteStream & { _refreshSize?: () => void } = (stream ??= openStream())
      // Node learns of another size by a signal, which comes a turn of the event loop later: what is drawn for
      // the size before would be counted in rows that the terminal has wrapped anew since.
      target._refreshSize?.()
      const { columns, rows } = target
      return columns > 0 && rows > 0 ? { columns, rows } : null
    },
    onResize(listener) {
      const target = (stream ??= openStream())
      target.on('resize', listener)
      return () => target.off('resize', listener)
    },
  }
}

/** The streams of this process. None is touched before it is used: opening one changes its mode. */
export function openStreams(self: NodeJS.Process): Streams {
  let stdin: NodeJS.ReadStream | null = null
  return {
    get stdin() {
      return (stdin ??= self.stdin)
    },
    stdout: createLazyWriter(() => self.stdout, 1),
    stderr: createLazyWriter(() => self.stderr, 2),
    get input() {
      return describeInput()
    },
  }
}

function describeInput(): Streams['input'] {
  if (isTerminal(0)) return 'terminal'
  const stat = statDescriptor(0)
  return stat !== null && isNullDevice(stat) ? 'empty' : 'given'
}

/**
 * Writes what a pipe or a terminal takes without waiting and gives the rest, all of it where that cannot be
 * tried: the runtime's stream takes Bun 10 ms to open. Linux only: elsewhere the opening would share the
 * flags of the descriptor.
 */
function writeAtOnce(fd: number, data: string | Uint8Array): string | Uint8Array {
  if (process.platform !== 'linux') return data
  let own: number
  try {
    own = openSync(`/proc/self/fd/${fd}`, atOnce)
  } catch {
    // It is a socket, nobody reads it, or it is another user's.
    return data
  }
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  let done = 0
  try {
    while (done < bytes.length) done += writeSync(own, bytes, done)
  } catch {
    // It is full, or fails: the stream waits, or tells why.
  } finally {
    closeSync(own)
  }
  return bytes.subarray(done)
}

const atOnce = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY

/** A disk that fills up takes a part of the bytes; Node's own stream for files forgets the rest. */
function writeWhole(fd: number, data: string | Uint8Array): void {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
}

/** All of standard input. Rejects with `MisuseError` where it cannot be read. */
export async function readText(stdin: NodeJS.ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of readChunks(stdin)) text += chunk
  return text
}

/** Standard input line by line, split at LF only. */
export async function* readLines(stdin: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of readChunks(stdin)) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

async function* readChunks(stdin: NodeJS.ReadStream): AsyncGenerator<string> {
  // Node gives an empty stream for a directory.
  if (fstatSync(0).isDirectory()) throw unreadable('it is a directory')
  stdin.setEncoding('utf8')
  try {
    for await (const chunk of stdin) yield chunk as string
  } catch (error) {
    throw unreadable(messageOf(error))
  }
}

function unreadable(why: string): MisuseError {
  return new MisuseError('unreadable_stdin', `Cannot read standard input: ${why}`)
}
