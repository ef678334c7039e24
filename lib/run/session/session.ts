import { setTimeout as delay } from 'node:timers/promises'
import { whenAborted } from '../../protocol/deferred.ts'
import { createId } from '../../protocol/wire.ts'
import { usualSize } from '../../protocol/limits.ts'
import type { Origin } from '../../protocol/origin.ts'
import type {
  Exit,
  Runner,
  Running,
  SessionInfo,
  SessionJob,
  StopOptions,
  StopReport,
  TerminalSession,
  TerminalSessionListener,
} from '../../protocol/ports.ts'
import type { Request, TerminalSize } from '../../protocol/request/request.ts'
import type { StopReason, Usage } from '../../protocol/result/result.ts'
import { nowMs } from '../../system/clock.ts'
import type { GroupUsage } from '../../system/process/control-group.ts'
import { describeProcess } from '../../system/process/process-table.ts'
import { createRunning } from '../running.ts'
import { sessionClosed, startWithin, stoppedBefore } from '../start-failure.ts'
import { chooseSteps, measureUsage } from '../stop.ts'
import { createSessionQueue, neverStarted, type TerminalKeys, typeInto } from './queue.ts'
import {
  checkConfinement,
  checkOpener,
  checkRequest,
  describeConfinement,
  describeLoss,
  hasLeft,
} from './shelf.ts'
import type { KeptShell, ShellTurn, StartShell, TurnEnd } from './shell.ts'
import { endShell, stopTurn } from './stop.ts'

/** One shell that keeps its state, replaced when a command ends it or goes on without its caller. */
export interface Session {
  /** Rejects with `StartError`. */
  run: Runner
  info(): SessionInfo
  /** Ends the shell and all that it left behind; a run under way is stopped. */
  close(): Promise<void>
}

export interface LocalSession extends Session, Omit<TerminalSession, 'info'> {
  /** Starts the shell ahead of its first command, as this request would have it. */
  open(request: Request): void
}

export interface SessionOptions {
  startShell: StartShell
  /** Of its program; null if its runs cannot choose that. */
  shellName: string | null
  /** Of a shell on a terminal; null: it is on pipes. */
  size: TerminalSize | null
  /** What the shell starts is the person's own, and outlives it if they detach it. */
  detaches: boolean
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

const nothingTold = { stages: null, notices: [], startedIn: undefined }

/** Between two looks at what a shell that nobody waits for still runs. */
const jobsLookMs = 500

export function createSession(name: string, options: SessionOptions): LocalSession {
  const { opener, detaches, ending, size: firstSize } = options
  const onTerminal = firstSize !== null
  const sessionMark = createId('session')
  const onIdle = () => {
    options.onIdle()
    void close()
  }
  const queue = createSessionQueue(options.idleMs, onIdle, () => starting?.abort())
  const isBusy = () => queue.describe().busy
  const closing = new AbortController()
  /** All that have not ended, left ones too. */
  const all = new Set<KeptShell>()
  let shell: KeptShell | null = null
  /** One that has not come to its first prompt. */
  let arising: TerminalKeys | null = null
  let opening: Promise<KeptShell> | null = null
  /** Ends the wait for a shell. */
  let starting: AbortController | null = null
  /** What the shell is confined to. */
  let confinement = ''
  let active: Running | null = null
  let { cwd } = options
  let size = firstSize ?? usualSize
  const notices = [...options.notices]
  /** How the shell before was lost, until there is another. */
  let lost: string | null = null
  /** What the next shell on a terminal is to export. */
  let exports = ''
  let hasGreeted = false
  /** What the next shell is started as, if it is needed ahead of a command. */
  let latest: Request | null = null
  let listener: TerminalSessionListener = { onOutput: () => undefined, onNotice: () => undefined }

  /** In the result of the run under way, or of the next one; on a terminal without a run, at once. */
  function tell(notice: string): void {
    if (onTerminal && !active) listener.onNotice(notice)
    else notices.push(notice)
  }

  async function openShell(request: Request, signal: AbortSignal): Promise<KeptShell> {
    const terminal = {
      size: () => size,
      exports,
      isRepeated: hasGreeted,
      onOutput: (...output: Parameters<typeof listener.onOutput>) => listener.onOutput(...output),
      arise(keys: TerminalKeys) {
        arising = keys
        hasGreeted = true
      },
    }
    const beginning = { request, cwd, mark: createId('session'), sessionMark, signal, tell }
    const found = await options.startShell({ ...beginning, terminal: onTerminal ? terminal : null })
    exports = ''
    ;({ cwd } = found)
    if (lost !== null) notices.push(describeLoss(lost, cwd))
    lost = null
    confinement = describeConfinement(request)
    all.add(found)
    void found.ended.then((exit) => {
      all.delete(found)
      if (!active) lose(found, describeEnd(exit))
    })
    shell = found
    return found
  }

  /** The shell that is there, or starts. */
  function ensure(request: Request, limit: AbortSignal): Promise<KeptShell> {
    if (opening) return opening
    if (shell && confinement !== describeConfinement(request)) {
      if (!onTerminal) checkConfinement(request, name, confinement)
      const wanted = describeConfinement({ ...request, workspace: null })
      listener.onNotice(`Your shell starts anew with ${wanted}`)
      void dismiss(pass(shell))
    }
    if (shell) return Promise.resolve(shell)
    // On a terminal it goes on to start if nobody waits for it any more.
    opening = openShell(request, onTerminal ? closing.signal : limit).finally(() => {
      opening = null
      arising = null
    })
    return opening
  }

  /** A shell that can take the command. */
  async function awaitShell(request: Request, limit: AbortSignal): Promise<KeptShell> {
    const given = onTerminal && whenAborted(limit).then(() => Promise.reject(new Error('given up')))
    const bounded = <Value>(awaited: Promise<Value>): Promise<Value> =>
      given ? Promise.race([awaited, given]) : awaited
    for (;;) {
      // What it exports is known at its prompt.
      if (shell && confinement !== describeConfinement(request)) await bounded(shell.ready())
      const found = await bounded(ensure(request, limit))
      // One that was on its way already may be confined otherwise.
      if (confinement !== describeConfinement(request)) continue
      if (await bounded(found.ready())) return found
      // One that has told the end of a command may yet end on the way to its prompt.
      lose(found, describeEnd(await found.ended))
    }
  }

  async function openFor(request: Request, signal?: AbortSignal): Promise<KeptShell> {
    starting = new AbortController()
    const signals = [starting.signal, signal, options.ending]
    try {
      return await startWithin(request, 'starting', signals, (limit) => awaitShell(request, limit))
    } catch (error) {
      refuseIfClosed()
      throw error
    } finally {
      starting = null
    }
  }

  function describeEnd({ code, signal }: Exit): string {
    if (onTerminal) return `has ended (${signal ?? `exit ${code}`})`
    if (code === null && signal === null) return 'was lost with its connection'
    return signal === null ? `ended with exit status ${code}` : `was ended by ${signal}`
  }

  function lose(gone: KeptShell, how: string): void {
    if (shell !== gone) return
    shell = null
    void gone.close()
    if (onTerminal) tell(`Your shell ${how}; the next line gets a new one`)
    else lost = how
  }

  /** Leaves the shell to itself; the next one exports the same variables. */
  function pass(left: KeptShell): KeptShell {
    exports = left.terminal?.readExports() ?? ''
    if (exports === '') {
      // One in a sandbox may write nothing of ours.
      const notice = 'The new shell has the directory of the one before, and nothing else of it'
      listener.onNotice(notice)
    }
    shell = null
    return left
  }

  /** Ends a shell that was left, once what its commands have in the background has ended. */
  async function dismiss(left: KeptShell): Promise<void> {
    const over = Promise.race([left.ended, whenAborted(closing.signal)])
    const hasJobs = () => left.alive && (left.terminal?.listJobs() ?? []).length > 0
    while (!closing.signal.aborted && hasJobs()) await Promise.race([over, delay(jobsLookMs)])
    await endShell(left, { sessionMark: null, detaches })
  }

  function refuseIfClosed(): void {
    if (closing.signal.aborted) throw sessionClosed(name, ending)
  }

  async function start(
    free: () => void,
    ...[request, sink, signal]: Parameters<Runner>
  ): Promise<Running> {
    refuseIfClosed()
    const isReady = !onTerminal && shell?.alive && confinement === describeConfinement(request)
    const current = isReady && shell ? shell : await openFor(request, signal)
    refuseIfClosed()
    const before = { startedMs: nowMs(), usage: current.readUsage(), cwd }
    const turn = await current.begin(request, sink, cwd)
    if (request.cwdGiven) ({ cwd } = request)
    active = follow(current, turn, request, before, free)
    return active
  }

  function follow(
    current: KeptShell,
    turn: ShellTurn,
    request: Request,
    before: { startedMs: number; usage: GroupUsage | null; cwd: string },
    free: () => void,
  ): Running {
    const { startedMs } = before
    let isLeft = false
    let why: StopReason = 'cancel'
    let stopping: Promise<StopReport> | null = null

    async function finish(): Promise<Exit> {
      await turn.told
      await stopping
      const end = await turn.finish(stopping !== null)
      const usage = measureUsage(current, before.usage)
      if (stopping && !(await turn.begun)) {
        if (!isLeft) active = null
        return neverStarted(stoppedBefore('untaken', why))
      }
      return isLeft ? settleLeft(end, usage) : settle(end, usage)
    }

    function exitOf(end: TurnEnd, usage: Usage | null): Exit {
      const { stages, notices, startedIn } = end.kind === 'told' ? end : nothingTold
      const told = { pipeStatus: stages, cwd, notices: [...notices], startedIn, usage }
      if (stopping) return { ...told, code: null, signal: 'SIGTERM' }
      return end.kind === 'gone'
        ? { ...end.exit, ...told }
        : { ...told, code: end.status, signal: null }
    }

    async function settle(end: TurnEnd, usage: Usage | null): Promise<Exit> {
      if (end.kind === 'told' && end.cwd?.startsWith('/')) cwd = end.cwd
      const isGone = cwd !== before.cwd && !onTerminal && hasLeft(request, cwd)
      if (isGone) lose(current, `had left the workspace for ${cwd}`)
      else if (end.kind === 'told' && end.unfit !== null) lose(current, end.unfit)
      else if (end.kind === 'gone' && current.alive) ({ cwd } = before)
      else if (end.kind === 'gone' && stopping) lose(current, 'did not survive the stop')
      else if (!current.alive) lose(current, describeEnd(await current.ended))
      active = null
      const exit = exitOf(end, usage)
      exit.notices?.unshift(...notices.splice(0))
      return exit
    }

    /** The shell of a command that went on without its session has nobody any more. */
    function settleLeft(end: TurnEnd, usage: Usage | null): Exit {
      void dismiss(current)
      return exitOf(end, usage)
    }

    async function stop(how?: StopOptions): Promise<StopReport> {
      turn.revoke()
      if (!(await turn.begun)) return { survivors: [] }
      if (current.pid === null) return current.stop(turn, request, how)
      const steps = chooseSteps(request, how)
      return stopTurn({ shell: current, turn, mark: request.id, startedMs, steps, reason: why })
    }

    const { terminal } = current
    return createRunning({
      pid: () => current.pid,
      group: () => current.group?.path ?? null,
      exited: finish(),
      stop(reason, how) {
        why = stopping ? why : reason
        return (stopping ??= stop(how))
      },
      ...(terminal && {
        ...typeInto(() => terminal),
        resize: (columns, rows) =>
          isLeft ? terminal.resize(columns, rows) : resize({ columns, rows }),
        leave() {
          if (isLeft || shell !== current) return
          isLeft = true
          active = null
          pass(current)
          free()
          ensure(request, closing.signal).catch(() => undefined)
        },
      }),
    })
  }

  const keys = () => shell?.terminal ?? arising

  function resize(wanted: TerminalSize): void {
    size = wanted
    keys()?.resize(size.columns, size.rows)
  }

  const present = {
    ...typeInto(keys),
    resize: (columns: number, rows: number) => resize({ columns, rows }),
  }

  async function listJobs(): Promise<SessionJob[]> {
    const lists = [...all].map(async (each) => {
      const jobs = each.terminal?.listJobs() ?? []
      if (each !== shell || isBusy() || jobs.length === 0) return jobs
      // It alone knows which of them it has disowned.
      const groups = await each.terminal?.askGroups()
      return jobs.filter(({ group }) => groups?.includes(group))
    })
    return (await Promise.all(lists)).flat().map(({ run, pid, isSuspended }) => {
      return { run, command: describeProcess(pid) + (isSuspended ? ' (suspended)' : '') }
    })
  }

  async function close(): Promise<void> {
    closing.abort()
    starting?.abort()
    const free = queue.close()
    // A terminal is hung up with whatever runs on it.
    if (!onTerminal) {
      await active?.stop('kill')
      await free
    }
    await opening?.catch(() => undefined)
    // Without a shell, what the shells before have left behind is ended all the same.
    const shells = all.size > 0 ? [...all] : [null]
    await Promise.all(shells.map((each) => endShell(each, { sessionMark, detaches })))
    await free
  }

  return {
    async run(request, sink, signal) {
      checkOpener(request, name, opener)
      checkRequest(request, options.shellName)
      refuseIfClosed()
      latest = request
      const begin = (free: () => void) => start(free, request, sink, signal)
      return queue.enter(begin, onTerminal ? present : undefined)
    },
    open(request) {
      checkOpener(request, name, opener)
      latest = request
      // A start that fails is told by the first run that needs it.
      ensure(request, closing.signal).catch(() => undefined)
    },
    listen: (chosen) => void (listener = chosen),
    async complete(line) {
      if (isBusy() || closing.signal.aborted || !latest) return null
      const found = await ensure(latest, closing.signal).catch(() => null)
      if (!found || isBusy()) return null
      return found.terminal?.complete(line) ?? null
    },
    listJobs,
    type: (data) => keys()?.type(data),
    resize,
    info: () => ({ name, pid: shell?.alive ? shell.pid : null, cwd, ...queue.describe() }),
    close,
  }
}
