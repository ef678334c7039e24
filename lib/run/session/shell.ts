import { closeSync, ftruncateSync, openSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { codeOf } from '../../protocol/errors.ts'
import type { FifoPool, SharedFolder } from '../pipe/fifo.ts'
import type { Launch, ShellUse } from '../launch.ts'
import type {
  ControlGroup,
  ControlGroups,
  OpenUsage,
  UsageSource,
} from '../../system/process/control-group.ts'
import { startProcess, type StartedProcess, type Uninherited } from '../../system/process/spawn.ts'
import { findConfined } from '../../system/process/process-table.ts'
import { setReferenced } from '../../system/runtime.ts'
import type { SessionDialect } from './dialect.ts'
import { encodeTurn } from './turn.ts'
import { createRecordReader, describeFailedStart, type TurnEnd } from './record.ts'
import { describeStartFailure } from '../start-failure.ts'
import { stopTree } from '../stop.ts'

/** A real shell that waits for commands. */
export interface SessionShell extends UsageSource {
  readonly pid: number
  readonly alive: boolean
  /** Holds all that the session ever starts; null where the kernel gives none. */
  readonly group: ControlGroup | null
  /** What it can see of ours, where that is not all. */
  readonly shared: SharedFolder | null
  /** One at a time. Never rejects. */
  run(turn: Parameters<typeof encodeTurn>[0]): Promise<TurnEnd>
  /** Lets it go: it exits at the end of its input, with its EXIT trap. Settles when it has ended. */
  close(): Promise<void>
}

/** What its start files have begun is found by the group, or as its children: earlier shells have the same mark. */
const noMark = ''

/** The token of the record that the shell gives when it is ready: no run has an empty mark. */
const readyToken = ''

export interface SessionShellOptions {
  dialect: SessionDialect
  login: boolean
  setUp: string
  pipes: FifoPool
  uninherited: Uninherited
  groups?: ControlGroups
  cwd: string
  /** `OLDPWD` at the start. */
  oldCwd: string | undefined
  /** Aborting it ends a shell that is not ready yet. */
  signal: AbortSignal
  /** Makes the launch of a shell that is used so. Rejects with `StartError`. */
  prepare(use: ShellUse): Promise<Launch>
}

/**
 * Starts a shell with the session's program. Its files are opened and their names gone before the
 * first command, where the shell sees them without. Rejects with `StartError`.
 */
export async function startSessionShell(options: SessionShellOptions): Promise<SessionShell> {
  const directory = makeFilledFolder('session', tryRoom)
  const opened: number[] = []
  const names: string[] = []
  let inputFd: number | null = null
  let usage: OpenUsage | null = null
  const isAnonymous = (seenAs: string) => process.platform === 'linux' && seenAs === directory

  function openFile(name: string, flags: 'wx' | 'wx+'): number {
    const fd = openSync(join(directory, name), flags, 0o600)
    opened.push(fd)
    names.push(name)
    return fd
  }

  function endInput(): void {
    if (inputFd !== null) closeSync(inputFd)
    inputFd = null
  }

  /** Removes them by their names: to read the folder takes a descriptor, and none may be left. */
  function removeFiles(): void {
    for (const name of names.splice(0)) {
      try {
        // Not `rmSync`, which may take a descriptor.
        unlinkSync(join(directory, name))
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error
      }
    }
    // What a sandboxed shell shares with us may still be in it.
    removeTemporaryFolder(directory)
  }

  function release(): void {
    endInput()
    usage?.close()
    usage = null
    for (const fd of opened.splice(0)) closeSync(fd)
    removeFiles()
  }

  async function start() {
    const turnFd = openFile('turn', 'wx+')
    const compose = (seenAs: string) => {
      const turnPath = isAnonymous(seenAs)
        ? `/proc/${process.pid}/fd/${turnFd}`
        : join(seenAs, 'turn')
      return options.dialect.compose({ ...options, turnPath })
    }
    const launch = await options.prepare({
      share: directory,
      startsIn: 'share',
      args: (seenAs) => compose(seenAs).args,
    })
    const { args, script } = compose(launch.shared ?? directory)
    // Named as in `args`: bash puts the name of its script before its messages.
    const scriptFd = openFile(basename(args.at(-1) ?? 'script'), 'wx')
    const scriptBytes = writeAt(scriptFd, script.text, 0)
    // A pipe, since it takes its byte at once; a socket of Node's does so in a later turn.
    const input = await options.pipes.openInput()
    inputFd = input.writeFd
    const child = await spawnShell(launch, directory, input.readFd, options)
    return { launch, turnFd, script, scriptFd, scriptBytes, child }
  }

  const started = await start().catch((error: unknown) => {
    release()
    throw error
  })
  const { launch, turnFd, script, scriptFd, child } = started
  const seenAs = launch.shared ?? directory
  let { scriptBytes } = started
  let lines = script.lines
  let turnBytes = 0

  const records = createRecordReader()
  let token = readyToken
  let settle: ((end: TurnEnd) => void) | null = null
  let alive = true
  const handles = [child, child.stdout as Socket]

  /** A waiting session does not keep nacre from ending. */
  const setBusy = (busy: boolean) => setReferenced(handles, busy)

  function end(turnEnd: TurnEnd): void {
    const done = settle
    settle = null
    setBusy(false)
    done?.(turnEnd)
  }

  // The end of the process tells more than the end of its pipe.
  child.stdout?.on('error', () => undefined)
  child.stdout?.on('data', (chunk: Uint8Array) => {
    const record = records.read(chunk, token)
    if (record === null) return
    if (record.line >= lines) {
      // It has left a loop and stands in the last that it knows.
      lines++
      scriptBytes += writeAt(scriptFd, script.line(lines), scriptBytes)
    }
    end({ kind: 'record', record })
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      alive = false
      child.stdout?.destroy()
      release()
      end({ kind: 'gone', code, signal })
      resolve()
    })
  })

  function wake(): void {
    try {
      if (inputFd !== null) writeSync(inputFd, '\n')
    } catch (error) {
      // It is gone, and its exit is yet to be heard.
      if (codeOf(error) !== 'EPIPE') throw error
    }
  }

  function awaitTurn(): Promise<TurnEnd> {
    setBusy(true)
    return new Promise((resolve) => {
      settle = resolve
    })
  }

  const { group } = child
  usage = group?.openUsage() ?? null
  let { pid } = child
  const shell: SessionShell = {
    get pid() {
      return pid
    },
    group,
    shared: launch.shared === undefined ? null : { path: directory, seenAs },
    get alive() {
      return alive
    },
    run(turn) {
      if (!alive) return Promise.resolve({ kind: 'gone', code: null, signal: null })
      token = turn.mark
      const text = encodeTurn(turn)
      const bytes = writeAt(turnFd, text, 0)
      if (bytes < turnBytes) ftruncateSync(turnFd, bytes)
      turnBytes = bytes
      const ended = awaitTurn()
      wake()
      return ended
    },
    readUsage: () => (usage ?? group)?.readUsage() ?? null,
    close() {
      endInput()
      return gone
    },
  }
  let killed: Promise<unknown> = Promise.resolve()
  const kill = () => {
    killed = stopTree({ pid, mark: noMark, group }, { signal: 'SIGKILL' })
  }
  if (options.signal.aborted) kill()
  options.signal.addEventListener('abort', kill)
  const ready = await awaitTurn()
  options.signal.removeEventListener('abort', kill)
  if (options.signal.aborted) {
    // It may have been ended just as it got ready.
    setBusy(true)
    await killed
    await gone
  }
  if (!alive) throw describeFailedStart(ready.kind === 'gone' ? ready.code : null, launch)
  if (isAnonymous(seenAs)) removeFiles()
  if (launch.shared !== undefined) pid = findConfined(pid)
  return shell
}

/** The session's program and a command of the usual size need so much room on a disk that is nearly full. */
const roomBytes = 65_536

function tryRoom(folder: string): void {
  const path = join(folder, 'room')
  writeFileSync(path, Buffer.alloc(roomBytes), { mode: 0o600 })
  unlinkSync(path)
}

/** As bytes, since Deno passes by the position of a text. */
function writeAt(fd: number, text: string, position: number): number {
  const bytes = Buffer.from(text)
  return writeSync(fd, bytes, 0, bytes.length, position)
}

async function spawnShell(
  launch: Launch,
  directory: string,
  stdinFd: number,
  { uninherited, groups }: SessionShellOptions,
): Promise<StartedProcess> {
  try {
    const stdio = [stdinFd, 'pipe', 'ignore'] as const
    return await startProcess({
      ...launch,
      cwd: directory,
      stdio,
      detached: true,
      uninherited,
      groups,
    })
  } catch (error) {
    throw describeStartFailure(error, launch)
  } finally {
    closeSync(stdinFd)
  }
}
