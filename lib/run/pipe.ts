import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { closeSync, fstatSync } from 'node:fs'
import { MisuseError } from '../protocol/errors.ts'
import type { StreamName } from '../protocol/event.ts'
import type { Exit, Runner, Running } from '../protocol/ports.ts'
import type { Fifo, FifoPool } from './fifo.ts'
import type { Launch, PrepareLaunch } from './launch.ts'
import { type PipeReader, readPipe } from './pipe-reader.ts'
import { describeProcess } from './process-table.ts'
import { createPipeInput, type PipeInput } from './pipe-input.ts'
import { openStandardInput, openWritableInput, type StandardInput } from './standard-input.ts'
import { describeStartFailure } from './start-failure.ts'
import { createTreeSearch, stopTree, type TreeRoot } from './stop.ts'
import { waitsForPipeInput } from './waiting-for-input.ts'

/** One output of a process: the pipe it writes to and what reads it. */
interface Output {
  fifo: Fifo
  reader: PipeReader
}

/** Runs each request in a fresh shell over real pipes, in a process session of its own. */
export function createPipeRunner(deps: { prepare: PrepareLaunch; pipes: FifoPool }): Runner {
  return async (request, sink) => {
    const launch = await deps.prepare(request)
    const names: StreamName[] = request.streams === 'merged' ? ['output'] : ['stdout', 'stderr']
    const fifos: Fifo[] = []
    for (const _ of names) fifos.push(await deps.pipes.open())
    const { stdin } = request
    const input =
      stdin.kind === 'open' ? await openWritableInput(deps.pipes) : openStandardInput(stdin)
    const child = await start(launch, input, fifos)
    const outputs = fifos.map((fifo, index) => {
      const stream = names[index] as StreamName
      return { fifo, reader: readPipe(fifo.readFd, (bytes) => sink.write(stream, bytes)) }
    })
    const written = input.writeFd === null ? null : createPipeInput(input.writeFd)
    return follow(child, launch, outputs, written)
  }
}

async function start(launch: Launch, input: StandardInput, fifos: Fifo[]): Promise<ChildProcess> {
  const [first, second = first] = fifos.map((fifo) => fifo.writeFd)
  const stdio: StdioOptions = [input.stdin, first, second]
  const { file, args, argv0 } = input.closed ? closeInput(launch) : launch
  const { cwd, env } = launch
  try {
    const child = spawn(file, args, { argv0, cwd, env, stdio, detached: true })
    if (child.pid === undefined) {
      await new Promise((_, reject) => child.once('error', reject))
    }
    return child
  } catch (error) {
    for (const fifo of fifos) {
      fifo.release(true)
      closeSync(fifo.readFd)
    }
    if (input.writeFd !== null) closeSync(input.writeFd)
    throw describeStartFailure(error, launch)
  } finally {
    input.release()
  }
}

/** Waits for the end of the process, not for the end of its pipes, and then for their last bytes. */
function follow(
  child: ChildProcess,
  launch: Launch,
  outputs: Output[],
  input: PipeInput | null,
): Running {
  const pid = child.pid as number
  const root: TreeRoot = {
    pid,
    mark: launch.mark,
    pipes: outputs.map(({ fifo }) => fstatSync(fifo.writeFd)),
  }
  let stopping = false
  const exited = new Promise<Exit>((settle) => {
    child.once('exit', (code, signal) => settle(finish(code, signal)))
  })

  async function finish(code: number | null, signal: string | null): Promise<Exit> {
    let leftBehind = false
    input?.close()
    for (const { fifo } of outputs) fifo.closeWrite()
    for (const { fifo, reader } of outputs) {
      const atEnd = await reader.drain()
      fifo.release(atEnd)
      if (atEnd) reader.close()
      else reader.leave()
      leftBehind ||= !atEnd
    }
    leftBehind ||= isGroupAlive(pid)
    const notices = leftBehind && !stopping ? describeLeftBehind(root) : []
    return { code, signal, notices }
  }

  return {
    pid,
    exited,
    write(text) {
      if (input) return input.write(text)
      throw new MisuseError(
        'no_input',
        'This run reads no input; start it with `stdin: open` or a pty to write to it',
      )
    },
    ...(input && { drain: () => input.drain(), endInput: () => input.end() }),
    resize() {
      // Only a terminal has a size.
    },
    waitingForInput: () => (input && waitsForPipeInput(pid) ? 'line' : null),
    stop() {
      stopping = true
      return stopTree(root)
    },
  }
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

function describeLeftBehind(root: TreeRoot): string[] {
  return createTreeSearch(root)().map(
    ({ pid }) => `Still running in the background: ${pid} ${describeProcess(pid).slice(0, 200)}`,
  )
}

/** spawn cannot leave descriptor 0 closed; a shell that becomes the program can. */
function closeInput({ file, args }: Launch): Pick<Launch, 'file' | 'argv0' | 'args'> {
  return { file: '/bin/sh', argv0: 'sh', args: ['-c', 'exec "$0" "$@" <&-', file, ...args] }
}
