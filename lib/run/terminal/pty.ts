import { closeSync, fstatSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../protocol/errors.ts'
import {
  type Exit,
  type OutputSink,
  type Runner,
  type Running,
  type StopReport,
} from '../../protocol/ports.ts'
import type { Stdin, TerminalSize } from '../../protocol/request.ts'
import { openDescriptorCalls } from './descriptor-calls.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { isGroupAlive } from '../../system/process-table.ts'
import { describeLeftBehind } from '../left-behind.ts'
import { type LoadedAddon, loadPtyAddon } from './pty-addon.ts'
import type { PtyParts, PtyProcess } from './pty-process.ts'
import { createRunning } from '../running.ts'
import { runInScript } from './script-terminal.ts'
import { startPty } from './start-pty.ts'
import type { stopTree, TreeRoot } from '../stop.ts'
import { createTerminalInput } from './terminal-input.ts'
import { readTerminal } from './terminal-output.ts'
import { typeStandardInput } from './typed-input.ts'
import { createUninherited, type Uninherited } from '../../system/spawn.ts'
import { createTerminalWatch } from './waiting-for-input.ts'

export interface PtyRunnerParts {
  prepare: PrepareLaunch
  stopTree: typeof stopTree
  /** Loads the native part on first use; what it throws sends the runs to script(1). */
  loadAddon?: () => LoadedAddon
  /** Shared with everything else that starts processes in the same executor. */
  uninherited?: Uninherited
}

/** What a terminal may measure. Beyond it a size is clamped. */
export const terminalLimits = {
  columns: { min: 20, max: 400, default: 80 },
  rows: { min: 5, max: 200, default: 24 },
} as const

/**
 * Runs each request on a terminal of its own, in a process session of its own. All output is the
 * stream `output`; a standard input that is given is typed, and then its end (Ctrl-D). Without the addon, script(1) does it, with a notice of what it cannot do; without
 * that too the run does not start (`pty_unavailable`).
 */
export function createPtyRunner(deps: PtyRunnerParts): Runner {
  const uninherited = deps.uninherited ?? createUninherited()
  let parts: PtyParts | { missing: string } | null = null

  function loadParts(): PtyParts | { missing: string } {
    try {
      const addon = (deps.loadAddon ?? loadPtyAddon)()
      return { addon, calls: openDescriptorCalls(), uninherited }
    } catch (error) {
      return { missing: messageOf(error) }
    }
  }

  return async (request, sink) => {
    const launch = await deps.prepare(request)
    const size = clampSize(request.pty ?? undefined)
    parts ??= loadParts()
    if ('missing' in parts) {
      return runInScript({ launch, size, request, sink, stop: deps.stopTree }, parts.missing)
    }
    const program = await startPty({ launch, size }, parts)
    return follow(program, {
      parts,
      sink,
      stopTree: deps.stopTree,
      launch,
      stdin: request.stdin,
    })
  }
}

interface Context {
  parts: PtyParts
  sink: OutputSink
  stopTree: typeof stopTree
  launch: Launch
  stdin: Stdin
}

function follow(program: PtyProcess, context: Context): Running {
  const { parts, sink, launch } = context
  const { pid, master, slave } = program
  let terminals = [fstatSync(slave)]
  const root: TreeRoot = { pid, mark: launch.mark, pipes: () => terminals }
  const input = createTerminalInput(master, parts.calls)
  const output = readTerminal(program, {
    take: (bytes) => sink.write('output', bytes),
    // Where the program reads, it often writes.
    onRead: () => input.flush(),
    onClose() {
      input.close()
      parts.uninherited.delete(master)
    },
  })
  const stopTyping = typeStandardInput(context.stdin, (bytes) => input.type(bytes))
  const look = createTerminalWatch(pid, program.path)
  let stopped: Promise<StopReport> | null = null
  let ended = false

  const exited = program.ended.then(async (exit): Promise<Exit> => {
    ended = true
    await launch.settle?.()
    stopTyping()
    input.close()
    await output.drain()
    await output.close()
    // Its number may be another's from here on.
    terminals = []
    closeSync(slave)
    const notices = stopped ? [] : await listLeftBehind(pid, root)
    return notices.length > 0 ? { ...exit, notices } : exit
  })

  return createRunning({
    pid: () => pid,
    exited,
    // A terminal reads Ctrl-D as the end at the start of a line.
    input: { write: (text) => input.type(text), end: () => void input.type('\u0004') },
    resize(columns, rows) {
      if (!output.isOpen()) return
      const size = clampSize({ columns, rows })
      parts.addon.addon.resize(master, size.columns, size.rows)
    },
    stop() {
      stopped ??= context.stopTree(root)
      return stopped
    },
    waitingForInput: () => (ended ? null : look()),
  })
}

/** What the hang-up at the end did not end. It takes effect a moment later. */
async function listLeftBehind(pid: number, root: TreeRoot): Promise<string[]> {
  for (let look = 0; look < 10 && isGroupAlive(pid); look++) await delay(5)
  return isGroupAlive(pid) ? describeLeftBehind(root) : []
}

function clampSize(size?: TerminalSize): TerminalSize {
  const clamp = (
    value: number | undefined,
    { min, max, default: usual }: typeof terminalLimits.rows | typeof terminalLimits.columns,
  ) => Math.min(max, Math.max(min, Math.round(value || usual)))
  return {
    columns: clamp(size?.columns, terminalLimits.columns),
    rows: clamp(size?.rows, terminalLimits.rows),
  }
}
