import { closeSync, fstatSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../../protocol/deferred.ts'
import type { StreamName } from '../../protocol/result/event.ts'
import type { Exit, Runner, Running } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Fifo, FifoPool } from './fifo.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { isGroupAlive, readProcess } from '../../system/process/process-table.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { nowMs } from '../../system/clock.ts'
import { startProcess, type StartedProcess, type Uninherited } from '../../system/process/spawn.ts'
import {
  createPipeInput,
  openStandardInput,
  type PipeInput,
  type StandardInput,
} from './pipe-input.ts'
import { type PipeReader, readPipe } from './pipe-reader.ts'
import type { Prestarted } from './prestarted.ts'
import { createRunning } from '../running.ts'
import { describeStartFailure } from '../start-failure.ts'
import {
  createTreeSearch,
  describeLeftBehind,
  measureUsage,
  stopRun,
  type TreeRoot,
} from '../stop.ts'
import { waitsForPipeInput } from '../terminal/waiting-for-input.ts'

/** One output of a process: the pipe it writes to and what reads it. */
interface Output {
  fifo: Fifo
  reader: PipeReader
}

/** A run under way, with all that it takes to see its end. */
interface FollowedRun {
  child: StartedProcess
  startedMs: number
  launch: Launch
  request: Request
  outputs: Output[]
  input: PipeInput | null
}

export interface PipeRunnerParts {
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  /** Default: a run's processes are known by their marks alone. */
  groups?: ControlGroups
  /** Null: every run is the start of a process. */
  prestarted?: Prestarted | null
}

/** Runs each request in a fresh shell over real pipes, in a process session of its own. */
export function createPipeRunner(parts: PipeRunnerParts): Runner {
  return async (request, sink) => {
    const launch = await parts.prepare(request)
    const names = listStreams(request)
    const startedMs = nowMs()
    const { child, fifos, writeFd } = await startOnPipes(parts, launch, request, names.length)
    const outputs = fifos.map((fifo, index) => {
      const stream = names[index] as StreamName
      return { fifo, reader: readPipe(fifo.readFd, (bytes) => sink.write(stream, bytes)) }
    })
    const input = writeFd === null ? null : createPipeInput(writeFd)
    const running = follow({ child, startedMs, launch, request, outputs, input })
    void running.exited.then(() => parts.prestarted?.prepare(launch))
    return running
  }
}

/** The streams that are read here. */
function listStreams({ outputTo, streams }: Request): StreamName[] {
  if (outputTo !== null) return []
  return streams === 'merged' ? ['output'] : ['stdout', 'stderr']
}

/** Where the system refuses a pipe, or the process, none of the pipes stays open. */
async function startOnPipes(
  { pipes, prestarted, uninherited, groups }: PipeRunnerParts,
  launch: Launch,
  { stdin, outputTo }: Request,
  count: number,
): Promise<{ child: StartedProcess; fifos: Fifo[]; writeFd: number | null }> {
  const fifos: Fifo[] = []
  let input: StandardInput | null = null
  let given: StandardInput['stdin'][] = []
  try {
    while (fifos.length < count) fifos.push(pipes.open())
    input = openStandardInput(stdin, pipes)
    const { writeFd } = input
    const [stdout, stderr = stdout] = fifos
    if (prestarted && stdout && stderr && stdin.kind === 'none') {
      const paths = { stdout: stdout.path, stderr: stderr.path }
      const waiting = await prestarted.take(launch, paths)
      if (waiting !== null) return { child: waiting, fifos, writeFd }
    }
    given = [
      input.stdin,
      outputTo?.stdout ?? stdout?.writeFd ?? 'ignore',
      outputTo?.stderr ?? stderr?.writeFd ?? 'ignore',
    ]
    const attached = { stdio: given, detached: true, uninherited, groups }
    return { child: await startProcess({ ...launch, ...attached }), fifos, writeFd }
  } catch (error) {
    const numbers = given.filter((fd) => typeof fd === 'number')
    const failure = numbers.length === 0 ? error : describeStartFailure(error, launch, numbers)
    for (const fifo of fifos) {
      fifo.release(true)
      closeSync(fifo.readFd)
    }
    if (input !== null && input.writeFd !== null) closeSync(input.writeFd)
    throw failure
  } finally {
    input?.release()
  }
}

/** A child that outlives its shell by a moment, such as that of setsid(1), is still heard. */
const lateMs = 100

/** Whether a process of the run does something: one that sleeps may do so for ever. */
function isBusy(root: TreeRoot): boolean {
  const pids = root.group?.list()
  const left = pids ? pids.flatMap((pid) => readProcess(pid) ?? []) : createTreeSearch(root)()
  return left.some(({ state }) => state === 'R' || state === 'D')
}

/** Waits for the end of the process, not for the end of its pipes, and then for their last bytes. */
function follow({ child, startedMs, launch, request, outputs, input }: FollowedRun): Running {
  const { pid, group } = child
  const held = new Map(outputs.map(({ fifo }) => [fifo, fstatSync(fifo.writeFd)]))
  const root = { pid, mark: launch.mark, group, startedMs, pipes: () => [...held.values()] }
  let stopping = false
  const { promise: ended, resolve: end } = createDeferred<Pick<Exit, 'code' | 'signal'>>()
  child.once('exit', (code, signal) => end({ code, signal }))
  const exited = ended.then(finish)

  async function finish({ code, signal }: Pick<Exit, 'code' | 'signal'>): Promise<Exit> {
    const ended = (await launch.settle?.()) ?? []
    let leftBehind = false
    input?.close()
    const heardUntilMs = nowMs() + lateMs
    for (const { fifo, reader } of outputs) {
      // Not before its turn: a reader that meets the end by itself closes what is yet to be drained.
      fifo.closeWrite()
      let atEnd = await reader.drain()
      let mayCome = true
      while (mayCome && !atEnd && !stopping && !reader.isClosed()) {
        // What a child wrote before it was seen idle, or gone, is read once more.
        mayCome = nowMs() < heardUntilMs && isBusy(root)
        if (mayCome) await delay(1)
        atEnd = await reader.drain()
      }
      // From here on another run may write to it, or another file have its number.
      if (atEnd || reader.isClosed()) held.delete(fifo)
      fifo.release(atEnd)
      if (atEnd) reader.close()
      else reader.leave()
      leftBehind ||= !atEnd
    }
    const usage = measureUsage(group)
    leftBehind ||= group ? !group.remove() : isGroupAlive(pid)
    const left = leftBehind && !stopping ? describeLeftBehind(root) : []
    const notices = [...(launch.takeNotices?.() ?? []), ...(stopping ? [] : ended), ...left]
    return { code, signal, notices, usage }
  }

  return createRunning({
    pid: () => pid,
    group: () => group?.path ?? null,
    exited,
    ...(input && { write: (data) => input.write(data), endInput: () => input.end() }),
    waitingForInput: () => (input && waitsForPipeInput(pid) ? 'line' : null),
    stop(_reason, how) {
      stopping = true
      return stopRun(root, request, how, () => {
        child.unref()
        end({ code: null, signal: null })
      })
    },
  })
}
