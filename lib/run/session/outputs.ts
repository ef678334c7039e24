import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../protocol/errors.ts'
import { type OutputSink, StartError } from '../../protocol/ports.ts'
import type { Stdin, StreamMode } from '../../protocol/request/request.ts'
import type { StreamName } from '../../protocol/result/event.ts'
import { isUnnamedPipe } from '../../system/descriptors.ts'
import { createFifoPool, type Fifo, type FifoPool, type SharedFolder } from '../pipe/fifo.ts'
import { bufferBytes, type PipeReader, readPipe, readRest } from '../pipe/pipe-reader.ts'
import { isScarce } from '../start-failure.ts'
import type { ShellFiles } from './shell-files.ts'

/** The pipes that the shell of a session writes to. */
interface SessionOutputs {
  /** Makes the pipes of the next run ready. */
  open(streams: StreamMode, sink: OutputSink): Promise<OpenOutputs>
  close(): void
}

interface OpenOutputs {
  /** Under which path the shell opens each. */
  paths: { stdout: string; stderr: string }
  used: readonly SessionOutput[]
}

/**
 * `ours`: the pipes of a shell that sees what we see, which stay open. `shared`: the folder of a shell that does
 * not; its pipes are in there.
 */
export function createSessionOutputs(ours: FifoPool, shared: SharedFolder | null): SessionOutputs {
  const pipes = shared === null ? ours : createFifoPool(shared)
  const outputs = [createSessionOutput(pipes), createSessionOutput(pipes)] as const

  return {
    async open(streams, sink) {
      const [first, second] = outputs
      if (streams === 'merged') {
        const output = first.open('output', sink)
        return { paths: { stdout: output, stderr: output }, used: [first] }
      }
      const stdout = first.open('stdout', sink)
      const stderr = second.open('stderr', sink)
      return { paths: { stdout, stderr }, used: outputs }
    },
    close() {
      for (const output of outputs) output.close()
      if (pipes !== ours) pipes.close()
    },
  }
}

/** One output stream of a session, run after run. */
interface SessionOutput {
  /** Makes the pipe of the next run ready; tells under which path the shell opens it. */
  open(stream: StreamName, sink: OutputSink): string
  /** Reads from now on, for a run that takes its time. False: there is no descriptor left to do so. */
  follow(): boolean
  /** The identity of the pipe, by which its holders are found; null where it is not open. */
  identify(): { dev: number; ino: number } | null
  /** After the run's end: gives on what is left in the pipe. */
  finish(): Promise<void>
  close(): void
}

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

  return {
    open(stream, sink) {
      take = (bytes) => sink.write(stream, bytes)
      if (fifo === null) {
        fifo = pipes.open()
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
      if (await readRest(fifo.readFd, buffer, take)) return
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

/** What a session's shell opens as the standard input of one command. */
interface SessionStdin {
  path: string
  release(): void
}

/**
 * `files`: those of the shell, which sees their folder under `seenAs`. Throws `StartError` if the shell cannot open
 * a descriptor of ours.
 */
export function openSessionStdin(stdin: Stdin, files: ShellFiles, seenAs: string): SessionStdin {
  const release = () => undefined
  if (stdin.kind === 'text') {
    files.write('stdin', stdin.text)
    return { path: join(seenAs, 'stdin'), release: () => files.remove('stdin') }
  }
  if (stdin.kind !== 'descriptor') return { path: '/dev/null', release }
  const isSeen = process.platform === 'linux' && seenAs === files.folder
  // A socket cannot be opened by its path in /proc (ENXIO).
  const given = fstatSync(stdin.fd)
  if (isSeen && !given.isSocket()) {
    // To open a FIFO by its name waits for a writer (fifo(7)), which may be gone.
    const isNamed = given.isFIFO() && !isUnnamedPipe(stdin.fd)
    if (!isNamed) return { path: `/proc/${process.pid}/fd/${stdin.fd}`, release }
  }
  const what = !isSeen ? 'an open file' : given.isSocket() ? 'a socket' : 'a named pipe'
  const message = `A session reads a text or nothing here, not ${what}: pass the text`
  throw new StartError('session_stdin', message)
}
