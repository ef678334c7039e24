import { basename } from 'node:path'
import { createLazy } from '../../protocol/deferred.ts'
import { limits, usualSize } from '../../protocol/limits.ts'
import type { Runner, Running, SessionInfo } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import type { Uninherited } from '../../system/process/spawn.ts'
import type { PrepareLaunch } from '../launch.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import { startPipeShell } from './pipe-shell.ts'
import { createSession, type LocalSession, type SessionOptions } from './session.ts'
import { createShelf } from './shelf.ts'

export interface SessionRunner {
  /** Runs requests with a session name. Rejects with `StartError` only. */
  runner: Runner
  list(): SessionInfo[]
  /** Ends the session with all that it started. False: there is none of that name. */
  close(name: string): Promise<boolean>
  closeAll(): Promise<void>
}

/** The same with a way to the terminals of sessions. */
export interface LocalSessionRunner extends SessionRunner {
  /** Starts the shell of a session on a terminal ahead of its first command. */
  open(request: Request): Promise<LocalSession>
}

export interface SessionRunnerOptions {
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  groups?: ControlGroups
  /** Runs a command in a shell of its own: what happens if the shell cannot keep a session. */
  fresh: Runner
  /** How many sessions may be open at once. */
  maxSessions?: number
  /** How long a session may be idle before it ends. */
  idleMs?: number
  /** Aborts when nacre ends. */
  ending?: AbortSignal
}

/**
 * Keeps real shells by name, on pipes and on terminals. Runs of one session take turns, in the order in which
 * they came; another session is not held up by them. No state outside of the returned object.
 */
export function createSessionRunner(options: SessionRunnerOptions): LocalSessionRunner {
  const { idleMs = limits.sessionIdleMinutes * 60_000, prepare, ending } = options
  const sessions = createShelf<LocalSession>({ most: options.maxSessions })
  /** Where the last sessions stood that ended because nobody used them. */
  const expired = new Map<string, string>()
  const terminals = createLazy(async () => {
    const { createTerminalStart } = await import('./terminal-start.ts')
    return createTerminalStart(options)
  })

  /** A session on pipes and one on a terminal may have the same name. */
  const keyOf = ({ session, pty }: Request) => `${pty ? 'terminal' : 'pipes'} ${session}`

  function open(
    request: Request,
    kind: Pick<SessionOptions, 'startShell' | 'shellName' | 'size'>,
  ): LocalSession {
    const { session: name, origin, cwd, sandbox } = request
    if (name === null) throw new TypeError('This request names no session')
    const key = keyOf(request)
    const lastCwd = expired.get(key)
    const isPersons = kind.size !== null && origin === 'repl'
    const session = sessions.add(key, () =>
      createSession(name, {
        ...kind,
        ending,
        // A sandbox ends with all that is in it, whoever's it is.
        detaches: isPersons && sandbox === 'off',
        idleMs: isPersons ? Infinity : idleMs,
        opener: origin,
        cwd: lastCwd ?? cwd,
        notices: lastCwd === undefined ? [] : [describeExpiry(idleMs, lastCwd)],
        onIdle() {
          expired.set(key, session.info().cwd)
          sessions.drop(key)
          for (const oldest of expired.keys()) if (expired.size > maxExpired) expired.delete(oldest)
        },
      }),
    )
    expired.delete(key)
    return session
  }

  async function findTerminal(request: Request): Promise<LocalSession> {
    const startShell = await terminals.open()
    const kind = { startShell, shellName: null, size: request.pty ?? usualSize }
    return sessions.get(keyOf(request)) ?? open(request, kind)
  }

  async function findOnPipes(request: Request): Promise<LocalSession | { unable: string }> {
    const { file } = await prepare({ ...request, sandbox: 'off' })
    const shellName = basename(file)
    if (shellName !== 'bash') return { unable: shellName }
    return (
      sessions.get(keyOf(request)) ??
      open(request, { startShell: (how) => startPipeShell(options, how), shellName, size: null })
    )
  }

  return {
    async runner(request, sink, signal) {
      if (request.session === null) return options.fresh(request, sink)
      const key = keyOf(request)
      const known = sessions.get(key)
      const session = known ?? (await (request.pty ? findTerminal(request) : findOnPipes(request)))
      if ('unable' in session) {
        const notice = `${session.unable} cannot keep a session here: this ran in a fresh shell`
        return addNotice(await options.fresh(request, sink), notice)
      }
      try {
        return await session.run(request, sink, signal)
      } catch (error) {
        // A session that never had a shell is none, unless the next run is about to start one.
        const { pid, busy } = session.info()
        const isNone = !known && pid === null && !busy
        if (isNone && sessions.get(key) === session) {
          sessions.drop(key)
          await session.close()
        }
        throw error
      }
    },
    async open(request) {
      const session = await findTerminal(request)
      session.open(request)
      return session
    },
    list: () => sessions.list(),
    close(name) {
      for (const kind of ['terminal', 'pipes']) expired.delete(`${kind} ${name}`)
      return sessions.close(name)
    },
    closeAll: () => sessions.closeAll(),
  }
}

const maxExpired = 1000

function describeExpiry(idleMs: number, cwd: string): string {
  const minutes = Math.round(idleMs / 60_000)
  return `The session had ended after ${minutes} idle minutes: this ran in a fresh shell in ${cwd}`
}

function addNotice(running: Running, notice: string): Running {
  const exited = running.exited.then((exit) => ({
    ...exit,
    notices: [...(exit.notices ?? []), notice],
  }))
  return { ...running, exited }
}
