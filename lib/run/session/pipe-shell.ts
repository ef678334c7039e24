import { closeSync, ftruncateSync, openSync, unlinkSync, writeFileSync, writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename, join } from 'node:path'
import { createDeferred } from '../../protocol/deferred.ts'
import { codeOf } from '../../protocol/errors.ts'
import { type Exit, type OutputSink, StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { quoteWord } from '../../protocol/words.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { findConfined, sendSignal } from '../../system/process/process-table.ts'
import { type StartedProcess, startProcess, type Uninherited } from '../../system/process/spawn.ts'
import { setReferenced } from '../../system/runtime.ts'
import { makeFilledFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import { describeStartFailure } from '../start-failure.ts'
import { stopTree } from '../stop.ts'
import { createCarriedState, encodeTurn } from './carried.ts'
import type { PipeDialect, SessionProgram } from './dialect.ts'
import { createSessionOutputs, openSessionStdin } from './outputs.ts'
import { createRecordReader, describeFailedStart, endOf, type SessionRecord } from './record.ts'
import {
  addMarks,
  type Beginning,
  type KeptShell,
  prepareInPlace,
  type ShellTurn,
  type TurnEnd,
} from './shell.ts'

export interface PipeShellParts {
  dialect: PipeDialect
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  groups?: ControlGroups | undefined
}

/** The token of the record that the shell gives when it is ready: no run has an empty mark. */
const readyToken = ''
/** What start files have begun is found by the group, or as its children: earlier shells have the same mark. */
const noMark = ''

/** A command that is over sooner is read in one go at its end. */
const followAfterMs = 2
/** Descriptors may be given back by then. */
const followAgainMs = 50

/** Starts a shell with the session's program on pipes. Rejects with `StartError`. */
export async function startPipeShell(
  parts: PipeShellParts,
  beginning: Beginning,
): Promise<KeptShell> {
  const { dialect, prepare, pipes } = parts
  const { request, signal, tell } = beginning
  const place = await prepareInPlace(beginning, async (cwd) => {
    // Only a sandbox refuses a directory outside of its workspace.
    if (request.sandbox !== 'off') await prepare({ ...request, env: {}, cwd })
    return prepare({ ...request, env: {}, sandbox: 'off', cwd })
  })
  for (const notice of place.setUp?.notices ?? []) tell(notice)
  const { cwd } = place
  const started = await openProgram(parts, beginning, place)
  const { child, files, seesAll, shared } = started
  const { group } = child
  const records = createRecordReader()
  const carried = createCarriedState(dialect)
  const outputs = createSessionOutputs(pipes, shared)
  const usage = group?.openUsage() ?? null
  const handles = [child, child.stdout as Socket]
  const { promise: ended, resolve: tellEnded } = createDeferred<Exit>()
  let { pid } = child
  let token = readyToken
  let settle: ((record: SessionRecord | Exit) => void) | null = null
  let alive = true

  function answer(found: SessionRecord | Exit): void {
    const done = settle
    settle = null
    // A waiting session does not keep nacre from ending.
    setReferenced(handles, false)
    done?.(found)
  }

  // The end of the process tells more than the end of its pipe.
  child.stdout?.on('error', () => undefined)
  child.stdout?.on('data', (chunk: Uint8Array) => {
    const record = records.read(chunk, token)
    if (record === null) return
    files.addLines(record.line)
    answer(record)
  })
  child.once('exit', (code, name) => {
    alive = false
    child.stdout?.destroy()
    files.release()
    usage?.close()
    answer({ code, signal: name })
    tellEnded({ code, signal: name })
  })

  function awaitRecord(): Promise<SessionRecord | Exit> {
    setReferenced(handles, true)
    return new Promise((resolve) => {
      settle = resolve
    })
  }

  /** Never rejects. */
  async function evaluate(turn: Parameters<typeof encodeTurn>[0]): Promise<SessionRecord | Exit> {
    if (!alive) return ended
    token = turn.mark
    files.writeTurn(encodeTurn(turn))
    const found = awaitRecord()
    files.wake()
    return found
  }

  async function becomeReady(): Promise<void> {
    let killed: Promise<unknown> = Promise.resolve()
    const kill = () => {
      killed = stopTree({ pid, mark: noMark, group }, { signal: 'SIGKILL' })
    }
    if (signal.aborted) kill()
    signal.addEventListener('abort', kill)
    const ready = await awaitRecord()
    signal.removeEventListener('abort', kill)
    if (signal.aborted) {
      // It may have been ended just as it got ready.
      setReferenced(handles, true)
      await killed
      await ended
    }
    if (!alive) throw describeFailedStart('code' in ready ? ready.code : null, started.launch)
    if (seesAll) files.removeNames()
    if (shared !== null) pid = findConfined(pid)
  }

  /** Changes the directory as a leading `cd` would. */
  async function moveTo(directory: string, mark: string): Promise<void> {
    const text = `\\builtin cd -- ${quoteWord(directory)}`
    const nowhere = { stdin: '/dev/null', stdout: '/dev/null', stderr: '/dev/null' }
    const found = await evaluate({ ...nowhere, status: 0, lastArgument: '', mark, text })
    if ('status' in found && found.status === 0) return
    throw new StartError('cwd_not_accessible', `Working directory may not be entered: ${directory}`)
  }

  async function begin(request: Request, sink: OutputSink, cwd: string): Promise<ShellTurn> {
    if (request.cwdGiven && request.cwd !== cwd) {
      await prepare(request)
      await moveTo(request.cwd, beginning.mark)
    }
    const stdin = openSessionStdin(request.stdin, shared)
    const { paths, used } = await outputs.open(request.streams, sink).catch((error: unknown) => {
      stdin.release()
      throw error
    })
    const { status, lastArgument } = carried
    const text = carried.compose(request)
    const turn = { ...paths, stdin: stdin.path, status, lastArgument, mark: request.id, text }
    const told = evaluate(turn)
    let timer = setTimeout(follow, followAfterMs)
    function follow(): void {
      const followed = used.map((output) => output.follow())
      if (followed.includes(false)) timer = setTimeout(follow, followAgainMs)
    }

    return {
      begun: Promise.resolve(true),
      told,
      async finish(stopped): Promise<TurnEnd> {
        const found = await told
        clearTimeout(timer)
        stdin.release()
        for (const output of used) await output.finish()
        if ('code' in found) return { kind: 'gone', exit: found }
        carried.remember(found, stopped)
        return endOf(found)
      },
      revoke: () => undefined,
      files: () => used.flatMap((output) => output.identify() ?? []),
    }
  }

  await becomeReady()
  return {
    get pid() {
      return pid
    },
    get alive() {
      return alive
    },
    group,
    mark: beginning.mark,
    cwd,
    survivesStop: dialect.survivesStop,
    terminal: null,
    ready: () => Promise.resolve(alive),
    begin,
    async skipRest() {
      if (alive) sendSignal(pid, 'SIGURG')
      if (alive) sendSignal(pid, 'SIGCONT')
    },
    nudge() {
      if (alive) sendSignal(pid, 'SIGCONT')
    },
    files: () => [],
    readUsage: () => (usage ?? group)?.readUsage() ?? null,
    /** It exits at the end of its input, with its EXIT trap. */
    async close() {
      files.endInput()
      await ended
      await outputs.close()
    },
    ended,
  }
}

/** The files by which nacre and the shell talk, and the pipe that wakes it. */
interface ProgramFiles {
  /** The command of the next turn. */
  writeTurn(text: string): void
  wake(): void
  /** The shell has come to this line of its program, behind which there must be another one. */
  addLines(line: number): void
  endInput(): void
  /** Removes their names: what the shell needs is open. */
  removeNames(): void
  release(): void
}

/** Starts the process. Its files are opened and their names gone before the first command, if the shell sees them without. */
async function openProgram(
  { dialect, prepare, pipes, uninherited, groups }: PipeShellParts,
  beginning: Beginning,
  place: Launch,
) {
  const { request } = beginning
  const { cwd, setUp } = place
  const directory = makeFilledFolder('session', tryRoom)
  const opened: number[] = []
  const names: string[] = []
  let inputFd: number | null = null
  let turnBytes = 0
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

  /** By their names: to read the folder takes a descriptor, and none may be left. */
  function removeNames(): void {
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
    for (const fd of opened.splice(0)) closeSync(fd)
    removeNames()
  }

  try {
    const turnFd = openFile('turn', 'wx+')
    const compose = (seenAs: string): SessionProgram =>
      dialect.compose({
        turnPath: isAnonymous(seenAs) ? `/proc/${process.pid}/fd/${turnFd}` : join(seenAs, 'turn'),
        cwd,
        oldCwd: place.env['OLDPWD'],
        setUp: setUp?.text ?? '',
        login: request.login,
      })
    const use = {
      share: directory,
      startsIn: 'share' as const,
      args: (seenAs: string) => compose(seenAs).args,
    }
    const launch = addMarks(await prepare({ ...request, env: {}, cwd }, use), beginning)
    const { args, script } = compose(launch.shared ?? directory)
    // Named as in `args`: bash puts the name of its script before its messages.
    const scriptFd = openFile(basename(args.at(-1) ?? 'script'), 'wx')
    let scriptBytes = writeAt(scriptFd, script.text, 0)
    let { lines } = script
    // A pipe, since it takes its byte at once; a socket of Node's does so in a later turn.
    const input = await pipes.openInput()
    inputFd = input.writeFd
    const child = await spawnShell({ ...launch, cwd: directory }, input.readFd, uninherited, groups)
    const files: ProgramFiles = {
      writeTurn(text) {
        const bytes = writeAt(turnFd, text, 0)
        if (bytes < turnBytes) ftruncateSync(turnFd, bytes)
        turnBytes = bytes
      },
      wake() {
        try {
          if (inputFd !== null) writeSync(inputFd, '\n')
        } catch (error) {
          // It is gone, and its exit is yet to be heard.
          if (codeOf(error) !== 'EPIPE') throw error
        }
      },
      addLines(line) {
        if (line < lines) return
        // It has left a loop and stands in the last that it knows.
        lines++
        scriptBytes += writeAt(scriptFd, script.line(lines), scriptBytes)
      },
      endInput,
      removeNames,
      release,
    }
    const seenAs = launch.shared ?? directory
    const shared = launch.shared === undefined ? null : { path: directory, seenAs }
    return { launch, child, files, shared, seesAll: isAnonymous(seenAs) }
  } catch (error) {
    release()
    throw error
  }
}

/** The session's program and a command of the usual size need so much room on a disk that is nearly full. */
const roomBytes = 65_536

function tryRoom(folder: string): void {
  const path = join(folder, 'room')
  writeFileSync(path, Buffer.alloc(roomBytes), { mode: 0o600 })
  unlinkSync(path)
}

/** As bytes, since Deno ignores the position of a text. */
function writeAt(fd: number, text: string, position: number): number {
  const bytes = Buffer.from(text)
  return writeSync(fd, bytes, 0, bytes.length, position)
}

async function spawnShell(
  launch: Launch,
  stdinFd: number,
  uninherited: Uninherited,
  groups: ControlGroups | undefined,
): Promise<StartedProcess> {
  try {
    const stdio = [stdinFd, 'pipe', 'ignore'] as const
    return await startProcess({ ...launch, stdio, detached: true, uninherited, groups })
  } catch (error) {
    throw describeStartFailure(error, launch)
  } finally {
    closeSync(stdinFd)
  }
}
