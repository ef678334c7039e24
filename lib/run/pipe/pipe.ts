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
  chooseSteps,
  createTreeSearch,
  describeLeftBehind,
  measureUsage,
  outlived,
  stopTree,
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
  root: TreeRoot
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
export function createPipeRunner(deps: PipeRunnerParts): Runner {
  return async (request, sink) => {
    const launch = await deps.prepare(request)
    const names = listStreams(request)
    const { fifos, input } = openPipes(deps.pipes, request, names.length)
    const startedMs = nowMs()
    const child =
      (await takePrestarted(deps.prestarted, launch, request, fifos)) ??
      (await start({ launch, input, fifos, request }, deps))
    const outputs = fifos.map((fifo, index) => {
      const stream = names[index] as StreamName
      return { fifo, reader: readPipe(fifo.readFd, (bytes) => sink.write(stream, bytes)) }
    })
    const written = input.writeFd === null ? null : createPipeInput(input.writeFd)
    const { mark } = launch
    const { pid, group } = child
    const root = { pid, mark, group, startedMs }
    const running = follow({ child, root, launch, request, outputs, input: written })
    void running.exited.then(() => deps.prestarted?.prepare(launch))
    return running
  }
}

/** The streams that are read here. */
function listStreams({ outputTo, streams }: Request): StreamName[] {
  if (outputTo !== null) return []
  return streams === 'merged' ? ['output'] : ['stdout', 'stderr']
}

/** What the process is attached to. Where the system refuses one of them, none stays open. */
function openPipes(
  pipes: FifoPool,
  { stdin }: Request,
  count: number,
): { fifos: Fifo[]; input: StandardInput } {
  const fifos: Fifo[] = []
  try {
    while (fifos.length < count) fifos.push(pipes.open())
    return { fifos, input: openStandardInput(stdin, pipes) }
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

async function takePrestarted(
  prestarted: Prestarted | null | undefined,
  launch: Launch,
  request: Request,
  fifos: Fifo[],
): Promise<StartedProcess | null> {
  const [first, second = first] = fifos
  if (!prestarted || !first || !second || request.stdin.kind !== 'none') return null
  return prestarted.take(launch, { stdout: first.path, stderr: second.path })
}

interface Attachment {
  launch: Launch
  input: StandardInput
  fifos: Fifo[]
  request: Request
}

async function start(
  { launch, input, fifos, request: { outputTo } }: Attachment,
  { uninherited, groups }: PipeRunnerParts,
): Promise<StartedProcess> {
  const [first, second = first] = fifos.map((fifo) => fifo.writeFd)
  const stdio = [input.stdin, outputTo?.stdout ?? first, outputTo?.stderr ?? second]
  try {
    const attached = { stdio, detached: true, uninherited, groups }
    return await startProcess({ ...launch, ...attached })
  } catch (error) {
    const given = stdio.filter((fd) => typeof fd === 'number')
    const failure = describeStartFailure(error, launch, given)
    closeUnused(fifos)
    if (input.writeFd !== null) closeSync(input.writeFd)
    throw failure
  } finally {
    input.release()
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
function follow({ child, launch, request, outputs, input, ...run }: FollowedRun): Running {
  const { pid } = child
  const { group = null } = run.root
  const held = new Map(outputs.map(({ fifo }) => [fifo, fstatSync(fifo.writeFd)]))
  const root: TreeRoot = { ...run.root, pipes: () => [...held.values()] }
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
    const notices = [...(launch.setUp?.takeNotices() ?? []), ...(stopping ? [] : ended), ...left]
    return { code, signal, notices, usage }
  }

  return createRunning({
    pid: () => pid,
    group: () => group?.path ?? null,
    exited,
    ...(input && { write: (data) => input.write(data), endInput: () => input.end() }),
    waitingForInput: () => (input && waitsForPipeInput(pid) ? 'line' : null),
    async stop(_reason, how) {
      stopping = true
      const report = await stopTree(root, chooseSteps(request, how))
      if (outlived(report, pid)) {
        child.unref()
        end({ code: null, signal: null })
      }
      return report
    },
  })
}
