import type { ChildProcess } from 'node:child_process'
import { closeSync, fstatSync } from 'node:fs'
import type { StreamName } from '../../protocol/event.ts'
import type { Exit, Runner, Running } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request.ts'
import type { Fifo, FifoPool } from './fifo.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { isGroupAlive } from '../../system/process-table.ts'
import { describeLeftBehind } from '../left-behind.ts'
import { startProcess, type Uninherited } from '../../system/spawn.ts'
import { createPipeInput, type PipeInput } from './pipe-input.ts'
import { type PipeReader, readPipe } from './pipe-reader.ts'
import type { Prestarted } from './prestarted.ts'
import { createRunning } from '../running.ts'
import { openStandardInput, openWritableInput, type StandardInput } from '../standard-input.ts'
import { describeStartFailure } from '../start-failure.ts'
import { stopTree, type TreeRoot } from '../stop.ts'
import { waitsForPipeInput } from '../terminal/waiting-for-input.ts'

/** One output of a process: the pipe it writes to and what reads it. */
interface Output {
  fifo: Fifo
  reader: PipeReader
}

export interface PipeRunnerParts {
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  /** Null: every run is the start of a process. */
  prestarted?: Prestarted | null
}

/** Runs each request in a fresh shell over real pipes, in a process session of its own. */
export function createPipeRunner(deps: PipeRunnerParts): Runner {
  return async (request, sink) => {
    const launch = await deps.prepare(request)
    const names: StreamName[] = request.streams === 'merged' ? ['output'] : ['stdout', 'stderr']
    const { fifos, input } = await openPipes(deps.pipes, request, names.length)
    const child =
      takePrestarted(deps.prestarted, launch, request, fifos) ??
      (await start(launch, input, fifos, deps.uninherited))
    child.once('exit', () => deps.prestarted?.prepare(launch))
    const outputs = fifos.map((fifo, index) => {
      const stream = names[index] as StreamName
      return { fifo, reader: readPipe(fifo.readFd, (bytes) => sink.write(stream, bytes)) }
    })
    const written = input.writeFd === null ? null : createPipeInput(input.writeFd)
    return follow(child, launch, outputs, written)
  }
}

/** What the process is attached to. Where the system refuses one of them, none stays open. */
async function openPipes(
  pipes: FifoPool,
  { stdin }: Request,
  count: number,
): Promise<{ fifos: Fifo[]; input: StandardInput }> {
  const fifos: Fifo[] = []
  try {
    while (fifos.length < count) fifos.push(await pipes.open())
    const input = stdin.kind === 'open' ? await openWritableInput(pipes) : openStandardInput(stdin)
    return { fifos, input }
  } catch (error) {
    closeUnused(fifos)
    throw error
  }
}

function closeUnused(fifos: readonly Fifo[]): void {
  for (const fifo of fifos) {
    fifo.release(true)
    closeSync(fifo.readFd)
  }
}

function takePrestarted(
  prestarted: Prestarted | null | undefined,
  launch: Launch,
  request: Request,
  fifos: Fifo[],
): ChildProcess | null {
  const [first, second = first] = fifos
  if (!prestarted || !first || !second || request.stdin.kind !== 'none') return null
  return prestarted.take(launch, { stdout: first.path, stderr: second.path })
}

async function start(
  launch: Launch,
  input: StandardInput,
  fifos: Fifo[],
  uninherited: Uninherited,
): Promise<ChildProcess> {
  const [first, second = first] = fifos.map((fifo) => fifo.writeFd)
  try {
    const stdio = [input.stdin, first, second]
    return await startProcess({ ...launch, stdio, detached: true, uninherited })
  } catch (error) {
    closeUnused(fifos)
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
  const held = new Map(outputs.map(({ fifo }) => [fifo, fstatSync(fifo.writeFd)]))
  const root: TreeRoot = { pid, mark: launch.mark, pipes: () => [...held.values()] }
  let stopping = false
  const exited = new Promise<Exit>((settle) => {
    child.once('exit', (code, signal) => settle(finish(code, signal)))
  })

  async function finish(code: number | null, signal: string | null): Promise<Exit> {
    await launch.settle?.()
    let leftBehind = false
    input?.close()
    for (const { fifo, reader } of outputs) {
      // Not before its turn: a reader that meets the end by itself closes what is yet to be drained.
      fifo.closeWrite()
      const atEnd = await reader.drain()
      // From here on another run may write to it, or another file have its number.
      if (atEnd || reader.closed) held.delete(fifo)
      fifo.release(atEnd)
      if (atEnd) reader.close()
      else reader.leave()
      leftBehind ||= !atEnd
    }
    leftBehind ||= isGroupAlive(pid)
    const notices = leftBehind && !stopping ? describeLeftBehind(root) : []
    return { code, signal, notices }
  }

  return createRunning({
    pid: () => pid,
    exited,
    ...(input && { input }),
    waitingForInput: () => (input && waitsForPipeInput(pid) ? 'line' : null),
    stop() {
      stopping = true
      return stopTree(root)
    },
  })
}
