import { createReadStream, writeSync } from 'node:fs'
import { codeOf } from '../../protocol/errors.ts'
import type { Stdin } from '../../protocol/request/request.ts'

/** What is typed into a terminal. */
export interface TerminalInput {
  /** Queues what is typed. Settles when the terminal has taken all of it, or is closed. */
  type(input: string | Uint8Array): Promise<void>
  /** The terminal may have room again. */
  flush(): void
  close(): void
}

interface Typed {
  bytes: Uint8Array
  settle: () => void
}

/** Nothing tells when a full terminal has room again, so that it is tried after so long, and longer. */
const retryMs = { first: 1, longest: 16 }
const sliceBytes = 64 * 1024

/**
 * Writes to a non-blocking master without ever blocking the event loop: the kernel takes some
 * kilobytes, the rest waits here until the program reads.
 */
export function createTerminalInput(master: number): TerminalInput {
  const queue: Typed[] = []
  let timer: NodeJS.Timeout | undefined
  let delayMs: number = retryMs.first
  let closed = false

  function flush(): void {
    for (let next = queue[0]; next && !closed; next = queue[0]) {
      const written = writeNow(master, next.bytes.subarray(0, sliceBytes))
      if (written === 0) return retryLater()
      delayMs = retryMs.first
      next.bytes = next.bytes.subarray(written)
      if (next.bytes.length === 0) queue.shift()?.settle()
    }
  }

  function retryLater(): void {
    if (timer) return
    timer = setTimeout(() => {
      timer = undefined
      flush()
    }, delayMs)
    delayMs = Math.min(retryMs.longest, delayMs * 2)
  }

  return {
    type(input) {
      const bytes = typeof input === 'string' ? Buffer.from(input) : input
      if (closed || bytes.length === 0) return Promise.resolve()
      return new Promise((settle) => {
        queue.push({ bytes, settle })
        if (queue.length === 1) flush()
      })
    },
    flush,
    close() {
      closed = true
      for (const { settle } of queue.splice(0)) settle()
      clearTimeout(timer)
    },
  }
}

/** The count of bytes that a non-blocking descriptor takes now; 0 if it is full. */
function writeNow(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes)
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return 0
    throw error
  }
}

/** Ctrl-D: ends the input of a program that reads lines. */
const endOfInput = '\x04'
const newline = 0x0a

/**
 * Types what a request gives its process to read into a terminal, as it comes, and then the end of
 * input; where the last line has no end, Ctrl-D must be typed twice. With nothing given, nothing is
 * typed. `type` settles when there is room for more. The function that comes back stops it.
 */
export function typeStandardInput(
  stdin: Stdin,
  type: (input: string | Uint8Array) => Promise<void>,
): () => void {
  if (stdin.kind === 'text') {
    const bytes = Buffer.from(stdin.text)
    void type(Buffer.concat([bytes, Buffer.from(describeEnd(bytes.at(-1)))]))
  }
  return stdin.kind === 'descriptor' ? typeDescriptor(stdin.fd, type) : () => undefined
}

function describeEnd(lastByte: number | undefined): string {
  return lastByte === undefined || lastByte === newline ? endOfInput : endOfInput + endOfInput
}

function typeDescriptor(
  fd: number,
  type: (input: string | Uint8Array) => Promise<void>,
): () => void {
  // A read of a pipe by the thread pool, which a file stream makes, could keep nacre from ending.
  const stream = fd === 0 ? process.stdin : createReadStream('', { fd, autoClose: false })
  let last: number | undefined
  let stopped = false

  async function typeNext(bytes: Buffer): Promise<void> {
    last = bytes.at(-1)
    stream.pause()
    await type(bytes)
    if (!stopped) stream.resume()
  }
  // Text where somebody has set an encoding.
  const onData = (chunk: Buffer | string) => void typeNext(Buffer.from(chunk as string))
  // What cannot be read (a directory) has no more input either.
  const onEnd = () => void (stopped || type(describeEnd(last)))
  stream.on('data', onData)
  stream.once('end', onEnd)
  stream.once('error', onEnd)

  return () => {
    stopped = true
    stream.off('data', onData)
    // Not destroyed, which would close a descriptor that is not ours.
    stream.pause()
  }
}
