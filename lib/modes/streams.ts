import { fstatSync, readFileSync, statSync } from 'node:fs'
import { isatty } from 'node:tty'

/** The three standard streams of nacre, as a front door gets them. */
export interface Streams {
  stdin: NodeJS.ReadStream
  stdout: Writer
  stderr: Writer
  /** What is on descriptor 0; `empty` is `/dev/null`. */
  input: 'terminal' | 'given' | 'empty' | 'closed'
}

/** A stream that is written to the end or found closed, never silently cut. */
export interface Writer {
  /**
   * Settles when the bytes are handed over; then their memory may be used again. `closed` where
   * nobody reads any more (EPIPE): ending quietly is right then.
   */
  write(data: string | Uint8Array): Promise<'closed' | void>
  readonly closed: boolean
  readonly isTerminal: boolean
  /** Of the terminal; null where it is none. */
  size(): { columns: number; rows: number } | null
  /** Gives what ends the listening. */
  onResize(listener: () => void): () => void
}

/** A writer over a stream that is opened at its first write. */
function createLazyWriter(open: () => NodeJS.WriteStream, fd: number): Writer {
  let stream: NodeJS.WriteStream | null = null
  let closed = false

  function openStream(): NodeJS.WriteStream {
    const opened = open()
    opened.on('error', () => {
      closed = true
    })
    return opened
  }

  return {
    write(data) {
      if (closed) return Promise.resolve('closed' as const)
      const target = (stream ??= openStream())
      return new Promise((resolve) => {
        target.write(data, (error) => {
          if (error) closed = true
          resolve(closed ? 'closed' : undefined)
        })
      })
    },
    get closed() {
      return closed
    },
    get isTerminal() {
      return isatty(fd)
    },
    size() {
      const { columns, rows } = (stream ??= openStream())
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
  return {
    get stdin() {
      return self.stdin
    },
    stdout: createLazyWriter(() => self.stdout, 1),
    stderr: createLazyWriter(() => self.stderr, 2),
    get input() {
      return describeInput()
    },
  }
}

/**
 * What descriptor 0 is. Node opens `/dev/null` for reading and writing where it was closed, which
 * nobody else does for a standard input: its flags in proc(5) tell them apart.
 */
function describeInput(): Streams['input'] {
  if (isatty(0)) return 'terminal'
  try {
    if (fstatSync(0).rdev !== statSync('/dev/null').rdev) return 'given'
    const flags = readFileSync('/proc/self/fdinfo/0', 'utf8')
    return /^flags:\s*0*\d*2$/m.test(flags) ? 'closed' : 'empty'
  } catch {
    // No /proc: what is there is handed on.
    return 'given'
  }
}
