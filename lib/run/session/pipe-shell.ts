import { closeSync, writeSync } from 'node:fs'
import type { Socket } from 'node:net'
import { basename } from 'node:path'
import { createDeferred } from '../../protocol/deferred.ts'
import { codeOf } from '../../protocol/errors.ts'
import type { Exit, OutputSink } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import { findConfined, sendSignal } from '../../system/process/process-table.ts'
import { startProcess, type Uninherited } from '../../system/process/spawn.ts'
import { setReferenced } from '../../system/runtime.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import { describeStartFailure } from '../start-failure.ts'
import { stopTree } from '../stop.ts'
import { composeLoop, composeProgram } from './bash.ts'
import { createCarriedState } from './carried.ts'
import { createSessionOutputs, openSessionStdin } from './outputs.ts'
import { createRecordReader, describeFailedStart, endOf, type SessionRecord } from './record.ts'
import {
  addMarks,
  type Beginning,
  type LocalShell,
  prepareInPlace,
  type ShellTurn,
  type TurnEnd,
} from './shell.ts'
import { openShellFiles, type ShellFiles } from './shell-files.ts'

export interface PipeShellParts {
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
): Promise<LocalShell> {
  const { prepare, pipes } = parts
  const { request, signal, tell } = beginning
  const place = await prepareInPlace(beginning, async (cwd) => {
    // Only a sandbox refuses a directory outside of its workspace.
    if (request.sandbox !== 'off') await prepare({ ...request, env: {}, cwd })
    return prepare({ ...request, env: {}, sandbox: 'off', cwd })
  })
  const notices = [...(place.setUp?.notices ?? []), ...(place.takeNotices?.() ?? [])]
  for (const notice of new Set(notices)) tell(notice)
  const { cwd } = place
  const files = openShellFiles(request.sandbox === 'off')
  const program = await startProgram(parts, beginning, place, files).catch((error: unknown) => {
    files.close()
    throw error
  })
  const { child, shared } = program
  const { group } = child
  const records = createRecordReader()
  const carried = createCarriedState()
  const outputs = createSessionOutputs(pipes, shared)
  const usage = group?.openUsage() ?? null
  const handles = [child, child.stdout as Socket]
  const { promise: ended, resolve: tellEnded } = createDeferred<Exit>()
  let { pid } = child
  let inputFd: number | null = program.inputFd
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
    program.addLines(record.line)
    answer(record)
  })
  child.once('exit', (code, name) => {
    alive = false
    child.stdout?.destroy()
    endInput()
    files.close()
    usage?.close()
    void program.launch.settle?.()
    answer({ code, signal: name })
    tellEnded({ code, signal: name })
  })

  function endInput(): void {
    if (inputFd !== null) closeSync(inputFd)
    inputFd = null
  }

  function wake(): void {
    try {
      if (inputFd !== null) writeSync(inputFd, '\n')
    } catch (error) {
      // It is gone, and its exit is yet to be heard.
      if (codeOf(error) !== 'EPIPE') throw error
    }
  }

  function awaitRecord(): Promise<SessionRecord | Exit> {
    setReferenced(handles, true)
    return new Promise((resolve) => {
      settle = resolve
    })
  }

  /** Has the loop read its next command: fields that it finds in this order. Never rejects. */
  async function evaluate(mark: string, fields: (string | number)[]) {
    if (!alive) return ended
    token = mark
    files.turn(fields)
    const found = awaitRecord()
    wake()
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
    if (!alive) throw describeFailedStart('code' in ready ? ready.code : null, program.launch)
    if (shared !== null) pid = findConfined(pid)
  }

  async function begin(request: Request, sink: OutputSink, cwd: string): Promise<ShellTurn> {
    const directory = request.cwdGiven && request.cwd !== cwd ? request.cwd : null
    if (directory !== null) await prepare(request)
    const stdin = openSessionStdin(request.stdin, files, program.seenAs)
    const { paths, used } = await outputs.open(request.streams, sink).catch((error: unknown) => {
      stdin.release()
      throw error
    })
    const { status, lastArgument } = carried
    const text = carried.compose(request, directory)
    const { id } = request
    const streams = [stdin.path, paths.stdout, paths.stderr]
    const told = evaluate(id, [...streams, status, lastArgument, id, text])
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
      endInput()
      await ended
      outputs.close()
    },
    ended,
  }
}

/** Starts the process. Rejects with `StartError`. */
async function startProgram(
  { prepare, pipes, uninherited, groups }: PipeShellParts,
  { request, ...beginning }: Beginning,
  place: Launch,
  files: ShellFiles,
) {
  const { cwd, setUp } = place
  const { folder } = files
  const compose = (seenAs: string) =>
    composeProgram({
      turnPath: files.turnPath(seenAs),
      cwd,
      oldCwd: place.env['OLDPWD'],
      setUp: setUp?.text ?? '',
      login: request.login,
    })
  const use = {
    share: folder,
    startsIn: 'share' as const,
    args: (seenAs: string) => compose(seenAs).args,
  }
  const launch = addMarks(await prepare({ ...request, env: {}, cwd }, use), beginning)
  const seenAs = launch.shared ?? folder
  const { args, script } = compose(seenAs)
  // Named as in `args`: bash puts the name of its script before its messages.
  const scriptName = basename(args.at(-1) ?? 'script')
  let lines = 2
  files.write(scriptName, script)
  // A pipe, since it takes its byte at once; a socket of Node's does so in a later turn.
  const input = pipes.openInput()
  try {
    const child = await startProcess({
      ...launch,
      cwd: folder,
      stdio: [input.readFd, 'pipe', 'ignore'],
      detached: true,
      uninherited,
      groups,
    })
    return {
      launch,
      child,
      inputFd: input.writeFd,
      seenAs,
      shared: launch.shared === undefined ? null : { path: folder, seenAs: launch.shared },
      /** The shell has come to this line of its program, behind which there must be another one. */
      addLines(line: number): void {
        // It has left a loop and stands in the last that it knows.
        if (line >= lines) files.append(scriptName, composeLoop(++lines, files.turnPath(seenAs)))
      },
    }
  } catch (error) {
    closeSync(input.writeFd)
    throw describeStartFailure(error, launch)
  } finally {
    closeSync(input.readFd)
  }
}
