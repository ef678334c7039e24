import { nowMs } from '../../system/clock.ts'
import { createId } from '../../protocol/wire.ts'
import {
  type Exit,
  type Runner,
  StartError,
  type StopReport,
  type SessionInfo,
} from '../../protocol/ports.ts'
import type { Origin } from '../../protocol/origin.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Usage } from '../../protocol/result/result.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import type { Launch, PrepareLaunch } from '../launch.ts'
import { quoteWord } from '../../protocol/words.ts'
import { createCarriedState } from './turn.ts'
import type { SessionDialect } from './dialect.ts'
import { describeEnd, describeLoss, exitOf, type TurnEnd } from './record.ts'
import { createSessionOutputs } from './outputs.ts'
import { type ActiveTurn, createSessionQueue } from './queue.ts'
import { checkConfinement, checkOpener, checkRequest, describeConfinement } from './refusals.ts'
import { type SessionShell, startSessionShell } from './shell.ts'
import { openSessionStdin } from './stdin.ts'
import { stopSession, stopTurn } from './stop.ts'
import { sessionClosed, startWithin } from '../start-limit.ts'
import { chooseSteps, measureUsage } from '../stop.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import type { Uninherited } from '../../system/process/spawn.ts'
import { markVariable, sessionVariable } from '../../system/process/own-process.ts'

/** One shell that keeps its state, replaced when a command ends it. */
export interface Session {
  /** Rejects with `StartError`. */
  run: Runner
  info(): SessionInfo
  /** Ends the shell and all that it left behind; a run under way is stopped. */
  close(): Promise<void>
}

export interface SessionOptions {
  dialect: SessionDialect
  /** Of its program. */
  shellName: string
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  groups?: ControlGroups
  /** Who asked for its first run. */
  opener: Origin
  /** Where it begins. */
  cwd: string
  /** Notices for the result of the first run. */
  notices: string[]
  idleMs: number
  /** Aborts when nacre ends. */
  ending?: AbortSignal | undefined
  /** It has not been used for `idleMs` and has closed. */
  onIdle(): void
}

/** A command that is over sooner is read in one go at its end. */
const followAfterMs = 2
/** Descriptors may be given back by then. */
const followAgainMs = 50

export function createSession(name: string, options: SessionOptions): Session {
  const mark = createId('session')
  const outputs = createSessionOutputs(options.pipes)
  const onIdle = () => {
    options.onIdle()
    void close()
  }
  const queue = createSessionQueue(options.idleMs, onIdle, () => starting?.abort())
  const carried = createCarriedState(options.dialect)
  let shell: SessionShell | null = null
  /** Ends the start of a shell. */
  let starting: AbortController | null = null
  /** What the shell is confined to. */
  let confinement = ''
  let active: ActiveTurn | null = null
  let closed = false
  let cwd = options.cwd
  let notices = [...options.notices]
  /** How the shell before was lost, until there is another. */
  let lost: string | null = null

  async function openShell(request: Request, signal?: AbortSignal): Promise<SessionShell> {
    starting = new AbortController()
    const signals = [starting.signal, signal, options.ending]
    try {
      return await startWithin(request, 'starting', signals, (limit) => startShell(request, limit))
    } catch (error) {
      refuseIfClosed()
      throw error
    } finally {
      starting = null
    }
  }

  async function startShell(request: Request, signal: AbortSignal): Promise<SessionShell> {
    if (shell) lose('was ended from outside')
    const launch = await prepareShell(request)
    if (lost !== null) notices.push(describeLoss(lost, launch.cwd))
    lost = null
    notices.push(...(launch.setUp?.notices ?? []))
    shell = await startSessionShell({
      dialect: options.dialect,
      login: request.login,
      setUp: launch.setUp?.text ?? '',
      pipes: options.pipes,
      uninherited: options.uninherited,
      ...(options.groups && { groups: options.groups }),
      cwd: launch.cwd,
      oldCwd: launch.env['OLDPWD'],
      signal,
      async prepare(use) {
        return addMarks(await options.prepare({ ...request, env: {}, cwd: launch.cwd }, use))
      },
    })
    confinement = describeConfinement(request)
    cwd = launch.cwd
    await outputs.place(shell.shared)
    return shell
  }

  function addMarks(launch: Launch): Launch {
    const env = { ...launch.env, [markVariable]: mark, [sessionVariable]: mark }
    return { ...launch, env }
  }

  async function prepareShell(request: Request): Promise<Launch> {
    const free: Request = { ...request, env: {}, sandbox: 'off' }
    try {
      // Only a sandbox refuses a directory outside of its workspace.
      if (request.sandbox !== 'off') await options.prepare({ ...request, env: {}, cwd })
      return addMarks(await options.prepare({ ...free, cwd }))
    } catch (error) {
      if (cwd === request.cwd) throw error
      const failure = error instanceof StartError ? error.failure : null
      const isOutside = failure?.code === 'cwd_outside_workspace'
      notices.push(isOutside ? failure.message : `The session's directory is gone: ${cwd}`)
      return addMarks(await options.prepare(free))
    }
  }

  function lose(how: string): void {
    shell = null
    carried.reset()
    lost = how
  }

  /** Lets a shell go that still answers. */
  function retire(how: string): void {
    void shell?.close()
    lose(how)
  }

  /** Changes the directory as a leading `cd` would. */
  async function moveTo(directory: string, request: Request, current: SessionShell): Promise<void> {
    await options.prepare(request)
    const text = `\\builtin cd -- ${quoteWord(directory)}`
    const nowhere = { stdin: '/dev/null', stdout: '/dev/null', stderr: '/dev/null' }
    const end = await current.run({ ...nowhere, status: 0, lastArgument: '', mark, text })
    if (end.kind === 'record' && end.record.status === 0) {
      cwd = directory
      return
    }
    if (end.kind !== 'record') lose('was ended from outside')
    throw new StartError('cwd_not_accessible', `Working directory may not be entered: ${directory}`)
  }

  function refuseIfClosed(): void {
    if (closed) throw sessionClosed(name, options.ending)
  }

  async function start(...[request, sink, signal]: Parameters<Runner>): Promise<ActiveTurn> {
    refuseIfClosed()
    const current = shell?.alive ? shell : await openShell(request, signal)
    checkConfinement(request, name, confinement)
    if (request.cwdGiven && request.cwd !== cwd) await moveTo(request.cwd, request, current)
    refuseIfClosed()
    const stdin = openSessionStdin(request.stdin, current)
    const { paths, used } = await outputs.open(request.streams, sink).catch((error: unknown) => {
      stdin.release()
      throw error
    })
    const startedMs = nowMs()
    const { status, lastArgument } = carried
    const text = carried.compose(request)
    const { stdout, stderr } = paths
    const usedBefore = current.readUsage()
    const turn = { stdin: stdin.path, stdout, stderr, status, lastArgument, mark: request.id, text }
    const ended = current.run(turn)
    let timer = setTimeout(follow, followAfterMs)
    function follow(): void {
      const followed = used.map((output) => output.follow())
      if (followed.includes(false)) timer = setTimeout(follow, followAgainMs)
    }
    let stopping: Promise<StopReport> | null = null

    async function finish(): Promise<Exit> {
      const end = await ended
      clearTimeout(timer)
      stdin.release()
      if (stopping) await stopping
      for (const output of used) await output.finish()
      active = null
      const usage = measureUsage(current, usedBefore)
      return settle(end, stopping !== null, usage)
    }

    active = {
      pid: current.pid,
      exited: finish(),
      group: current.group?.path ?? null,
      stop(how) {
        stopping ??= stopTurn({
          shell: current,
          dialect: options.dialect,
          mark: request.id,
          startedMs,
          pipes: () => used.flatMap((output) => output.identify() ?? []),
          ended,
          steps: chooseSteps(request, how),
        })
        return stopping
      },
    }
    return active
  }

  function settle(end: TurnEnd, stopped: boolean, usage: Usage | null): Exit {
    const exit = exitOf(end, stopped)
    if (end.kind !== 'record') {
      lose(stopped ? 'did not survive the stop' : describeEnd(end))
    } else {
      carried.remember(end.record, stopped)
      if (!end.record.started) retire('ran no more commands')
      else if (!end.record.usable) retire('could open no more files (restricted, or by its limits)')
      if (end.record.cwd.startsWith('/')) cwd = end.record.cwd
    }
    exit.cwd = cwd
    exit.usage = usage
    exit.notices.unshift(...notices)
    notices = []
    return exit
  }

  async function close(): Promise<void> {
    closed = true
    starting?.abort()
    const free = queue.close()
    await active?.stop()
    await free
    await stopSession(shell, mark)
    await outputs.close()
  }

  return {
    async run(request, sink, signal) {
      checkOpener(request, name, options.opener)
      checkRequest(request, options.shellName)
      return await queue.enter(() => start(request, sink, signal))
    },
    info() {
      return {
        name,
        pid: shell?.alive ? shell.pid : null,
        cwd,
        ...queue.describe(),
      }
    },
    close,
  }
}
