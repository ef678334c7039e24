import { basename } from 'node:path'
import { limits } from '../../protocol/limits.ts'
import type { Runner, Running, SessionInfo } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import type { PrepareLaunch } from '../launch.ts'
import { changeRunning } from '../running.ts'
import { bashDialect } from './bash.ts'
import type { SessionDialect } from './dialect.ts'
import { zshDialect } from './zsh.ts'
import { createShelf } from './shelf.ts'
import { createSession, type Session } from './session.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import type { Uninherited } from '../../system/process/spawn.ts'

export interface SessionRunner {
  /** Runs requests with a session name. Rejects with `StartError` only. */
  runner: Runner
  list(): SessionInfo[]
  /** Ends the session with all that it started. False: there is none of that name. */
  close(name: string): Promise<boolean>
  closeAll(): Promise<void>
}

export interface SessionRunnerOptions {
  prepare: PrepareLaunch
  pipes: FifoPool
  uninherited: Uninherited
  groups?: ControlGroups
  /** Runs a command in a shell of its own: what happens where the shell cannot keep a session. */
  fresh: Runner
  /** How many sessions may be open at once. */
  maxSessions?: number
  /** How long a session may be idle before it ends. */
  idleMs?: number
  /** Aborts when nacre ends. */
  ending?: AbortSignal
}

/**
 * Keeps real shells by name. Runs of one session take turns, in the order in which they came; another
 * session is not held up by them. No state outside of the object that this gives back.
 */
export function createSessionRunner(options: SessionRunnerOptions): SessionRunner {
  const { idleMs = limits.sessionIdleMinutes * 60_000 } = options
  const sessions = createShelf<Session>({ most: options.maxSessions })
  /** Where the last sessions stood that ended because nobody used them. */
  const expired = new Map<string, string>()

  function open(
    name: string,
    request: Request,
    dialect: SessionDialect,
    shellName: string,
  ): Session {
    const lastCwd = expired.get(name)
    const session = sessions.add(name, () =>
      createSession(name, {
        ...options,
        dialect,
        shellName,
        idleMs,
        opener: request.origin,
        cwd: lastCwd ?? request.cwd,
        notices: lastCwd === undefined ? [] : [describeExpiry(idleMs, lastCwd)],
        onIdle() {
          expired.set(name, session.info().cwd)
          sessions.drop(name)
          for (const oldest of expired.keys()) if (expired.size > maxExpired) expired.delete(oldest)
        },
      }),
    )
    expired.delete(name)
    return session
  }

  function close(name: string): Promise<boolean> {
    expired.delete(name)
    return sessions.close(name)
  }

  return {
    async runner(request, sink, signal) {
      const name = request.session
      if (name === null) return options.fresh(request, sink)
      let session = sessions.get(name)
      const isNew = session === undefined
      if (session === undefined) {
        const { file } = await options.prepare({ ...request, sandbox: 'off' })
        const dialect = dialects.get(basename(file))
        if (dialect === undefined) {
          const notice = `${basename(file)} cannot keep a session here: this ran in a fresh shell`
          return addNotice(await options.fresh(request, sink), notice)
        }
        session = sessions.get(name) ?? open(name, request, dialect, basename(file))
      }
      try {
        return await session.run(request, sink, signal)
      } catch (error) {
        // A session that never had a shell is none, unless the next run is about to start one.
        const { pid, busy } = session.info()
        const isNone = isNew && pid === null && !busy
        if (isNone && sessions.get(name) === session) await close(name)
        throw error
      }
    },
    list: () => sessions.list(),
    close,
    closeAll: () => sessions.closeAll(),
  }
}

const maxExpired = 1000

/** The shells that can keep a session. */
const dialects: ReadonlyMap<string, SessionDialect> = new Map([
  ['bash', bashDialect],
  ['zsh', zshDialect],
])

function describeExpiry(idleMs: number, cwd: string): string {
  const minutes = Math.round(idleMs / 60_000)
  return `The session had ended after ${minutes} idle minutes: this ran in a fresh shell in ${cwd}`
}

function addNotice(running: Running, notice: string): Running {
  const exited = running.exited.then((exit) => ({
    ...exit,
    notices: [...(exit.notices ?? []), notice],
  }))
  return changeRunning(() => running, { exited })
}
