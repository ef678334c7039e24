import { createReadStream } from 'node:fs'
import type { Stdin } from '../../protocol/request/request.ts'

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
