import { setTimeout as delay } from 'node:timers/promises'
import { createDeferred } from '../../protocol/deferred.ts'
import { limits, usualSize } from '../../protocol/limits.ts'
import type { Exit, OutputSink, Runner, Running, StopReport } from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { nowMs } from '../../system/clock.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { isGroupAlive } from '../../system/process/process-table.ts'
import { type PtyParts, type PtyProcess, startPty } from './start.ts'
import { loadTerminalCalls } from './terminal-calls.ts'
import { createRunning } from '../running.ts'
import { describeLeftBehind, measureUsage, stopRun, type TreeRoot } from '../stop.ts'
import { typeStandardInput } from './terminal-input.ts'
import { attachTerminal } from './attached-terminal.ts'
import type { Uninherited } from '../../system/process/spawn.ts'

export interface PtyRunnerParts {
  prepare: PrepareLaunch
  /** Default: a run's processes are known by their marks alone. */
  groups?: ControlGroups
  /** Shared with everything else that starts processes in the same executor. */
  uninherited?: Uninherited
}

/**
 * Runs each request on a terminal of its own, in a process session of its own. All output is the
 * stream `output`; a standard input that is given is typed, and then its end (Ctrl-D). If the runtime
 * can open no terminals the run does not start (`pty_unavailable`).
 */
export function createPtyRunner(deps: PtyRunnerParts): Runner {
  const uninherited = deps.uninherited ?? new Set<number>()
  let parts: PtyParts | null = null

  return async (request, sink) => {
    const launch = await deps.prepare(request)
    const size = clampSize(request.pty ?? usualSize)
    parts ??= { calls: loadTerminalCalls(), uninherited, groups: deps.groups }
    const startedMs = nowMs()
    const program = await startPty({ launch, size }, parts)
    return follow(program, { startedMs, request, parts, sink, launch })
  }
}

interface Context {
  parts: PtyParts
  sink: OutputSink
  launch: Launch
  request: Request
  startedMs: number
}

function follow(program: PtyProcess, context: Context): Running {
  const { parts, sink, launch, request, startedMs } = context
  const { pid, group } = program
  const terminal = attachTerminal(program, parts, (bytes) => sink.write('output', bytes))
  const { mark } = launch
  const root: TreeRoot = { pid, mark, group, startedMs, pipes: () => terminal.files() }
  const stopTyping = typeStandardInput(request.stdin, (bytes) => terminal.type(bytes))
  let stopped: Promise<StopReport> | null = null
  let ended = false

  const { promise: givenUp, resolve: giveUp } = createDeferred<Exit>()
  const exited = Promise.race([program.ended, givenUp]).then(async (exit): Promise<Exit> => {
    ended = true
    const settled = (await launch.settle?.()) ?? []
    stopTyping()
    await terminal.drain()
    await terminal.close()
    const left = stopped ? [] : [...settled, ...(await listLeftBehind(pid, root))]
    const notices = [...(launch.takeNotices?.() ?? []), ...left]
    const usage = measureUsage(group)
    return { ...exit, ...(notices.length > 0 && { notices }), ...(usage && { usage }) }
  })

  return createRunning({
    pid: () => pid,
    group: () => group?.path ?? null,
    exited,
    // A terminal reads Ctrl-D as the end at the start of a line.
    write: (text) => terminal.type(text),
    endInput: () => void terminal.type('\u0004'),
    resize(columns, rows) {
      const size = clampSize({ columns, rows })
      terminal.resize(size.columns, size.rows)
    },
    stop(_reason, how) {
      stopped ??= stopRun(root, request, how, () => {
        program.unref()
        giveUp({ code: null, signal: null })
      })
      return stopped
    },
    waitingForInput: () => (ended ? null : terminal.look()),
  })
}

/** What the hang-up at the end did not end. It takes effect a moment later. */
async function listLeftBehind(pid: number, root: TreeRoot): Promise<string[]> {
  const isAnyLeft = () => (root.group ? root.group.isPopulated() : isGroupAlive(pid))
  for (let look = 0; look < 10 && isAnyLeft(); look++) await delay(5)
  return isAnyLeft() ? describeLeftBehind(root) : []
}

function clampSize({ columns, rows }: TerminalSize): TerminalSize {
  const clamp = (value: number, { minimum, maximum }: Record<'minimum' | 'maximum', number>) =>
    Math.min(maximum, Math.max(minimum, Math.round(value)))
  return {
    columns: clamp(columns || usualSize.columns, limits.terminalColumns),
    rows: clamp(rows || usualSize.rows, limits.terminalRows),
  }
}
