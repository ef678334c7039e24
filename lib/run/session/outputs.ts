import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { codeOf } from '../../protocol/errors.ts'
import type { StreamName } from '../../protocol/result/event.ts'
import type { OutputSink } from '../../protocol/ports.ts'
import type { StreamMode } from '../../protocol/request/request.ts'
import { createFifoPool, type Fifo, type FifoPool, type SharedFolder } from '../pipe/fifo.ts'
import { readNow } from '../../system/descriptor-watch.ts'
import { type PipeReader, readPipe } from '../pipe/pipe-reader.ts'
import { isScarce } from '../start-failure.ts'

/** The pipes that the shell of a session writes to. */
export interface SessionOutputs {
  /** Makes the pipes for a new shell; where that sees only a folder of its own, they are in there. */
  place(shared: SharedFolder | null): Promise<void>
  /** Makes the pipes of the next run ready. */
  open(streams: StreamMode, sink: OutputSink): Promise<OpenOutputs>
  close(): Promise<void>
}

export interface OpenOutputs {
  /** Under which path the shell opens each. */
  paths: { stdout: string; stderr: string }
  used: readonly SessionOutput[]
}

/** `ours`: the pipes of a shell that sees what we see; they stay open. */
export function createSessionOutputs(ours: FifoPool): SessionOutputs {
  let pipes = ours
  let outputs = createPair(pipes)

  async function close(): Promise<void> {
    for (const output of outputs) output.close()
    if (pipes !== ours) await pipes.close()
  }

  return {
    async place(shared) {
      await close()
      pipes = shared === null ? ours : createFifoPool(shared)
      outputs = createPair(pipes)
    },
    async open(streams, sink) {
      const [first, second] = outputs
      if (streams === 'merged') {
        const output = await first.open('output', sink)
        return { paths: { stdout: output, stderr: output }, used: [first] }
      }
      const stdout = await first.open('stdout', sink)
      const stderr = await second.open('stderr', sink)
      return { paths: { stdout, stderr }, used: outputs }
    },
    close,
  }
}

function createPair(pipes: FifoPool): readonly [SessionOutput, SessionOutput] {
  return [createSessionOutput(pipes), createSessionOutput(pipes)]
}

/** One output stream of a session, run after run. */
export interface SessionOutput {
  /** Makes the pipe of the next run ready; tells under which path the shell opens it. */
  open(stream: StreamName, sink: OutputSink): Promise<string>
  /** Reads from now on, for a run that takes its time. False: there is no descriptor left to do so. */
  follow(): boolean
  /** The identity of the pipe, by which its holders are found; null where it is not open. */
  identify(): { dev: number; ino: number } | null
  /** After the run's end: gives on what is left in the pipe. */
  finish(): Promise<void>
  close(): void
}

const bufferBytes = 64 * 1024
/** What a pipe can hold at most (pipe-max-size of an ordinary user, proc(5)). */
const pipeMaxBytes = 1024 * 1024

/**
 * The shell opens the pipe for each command and closes it afterwards. So the end of the pipe, read
 * at the end of the run, says that nobody holds it, and it serves again. A pipe that a background
 * job still holds is left to that job, and its late output is dropped: it never lands in the result
 * of another run.
 */
function createSessionOutput(pipes: FifoPool): SessionOutput {
  let buffer = new Uint8Array(bufferBytes)
  let fifo: Fifo | null = null
  let take: (bytes: Uint8Array) => ReturnType<OutputSink['write']> = () => undefined
  let following: { reader: PipeReader; holdFd: number } | null = null

  function discard(reusable: boolean): void {
    fifo?.release(reusable)
    fifo = null
  }

  /** What the pipe holds, without an event loop in between. True: at its end. */
  async function empty(readFd: number): Promise<boolean> {
    let taken = 0
    let wanted = true
    while (taken < pipeMaxBytes) {
      const count = readNow(readFd, buffer)
      if (count === 'empty') return false
      if (count === 0) return true
      taken += count
      if (!wanted) continue
      const answer = take(buffer.subarray(0, count))
      wanted = (typeof answer === 'object' ? await answer : answer) !== 'closed'
    }
    return false
  }

  return {
    async open(stream, sink) {
      take = (bytes) => sink.write(stream, bytes)
      if (fifo === null) {
        fifo = await pipes.open()
        fifo.closeWrite()
      }
      return fifo.seenAs
    },
    follow() {
      if (fifo === null || following !== null) return true
      try {
        // Between two writers of the run the pipe must not look ended.
        const holdFd = openSync(fifo.path, constants.O_WRONLY | constants.O_NONBLOCK)
        following = { reader: readPipe(fifo.readFd, take, buffer), holdFd }
        return true
      } catch (error) {
        if (!isScarce(codeOf(error))) throw error
        return false
      }
    },
    identify() {
      return fifo === null || following?.reader.isClosed() ? null : fstatSync(fifo.readFd)
    },
    async finish() {
      if (fifo === null) return
      if (following !== null) {
        const { reader, holdFd } = following
        following = null
        closeSync(holdFd)
        const atEnd = await reader.drain()
        discard(atEnd)
        if (atEnd) {
          reader.close()
        } else {
          reader.leave()
          buffer = new Uint8Array(bufferBytes)
        }
        return
      }
      if (await empty(fifo.readFd)) return
      const { readFd } = fifo
      discard(false)
      readPipe(readFd, () => undefined).leave()
    },
    close() {
      if (fifo === null) return
      const { readFd } = fifo
      discard(true)
      closeSync(readFd)
    },
  }
}
