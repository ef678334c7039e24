import { basename } from 'node:path'
import { limits } from '../../protocol/limits.ts'
import { type SessionInfo, StartError } from '../../protocol/ports.ts'
import { type Origin, originPolicies } from '../../protocol/origin.ts'
import type { Request } from '../../protocol/request/request.ts'
import { isBelow } from '../../system/look.ts'

/** Sessions by their keys. */
export interface Shelf<Session> {
  get(key: string): Session | undefined
  /** Keeps one more. Throws `StartError` where there are too many. */
  add(key: string, make: () => Session): Session
  /** Forgets one that has closed by itself. */
  drop(key: string): void
  list(): SessionInfo[]
  /** Closes those of this name. False: there is none. */
  close(name: string): Promise<boolean>
  closeAll(): Promise<void>
}

interface Kept {
  info(): SessionInfo
  close(): Promise<void>
}

/** Holds at most `most` sessions at once; `where` is a part of the sentence that refuses more. */
export function createShelf<Session extends Kept>({
  most = limits.sessions,
  where = '',
}: {
  most?: number | undefined
  where?: string
} = {}): Shelf<Session> {
  const sessions = new Map<string, Session>()

  async function closeWhere(isMeant: (session: Session) => boolean): Promise<boolean> {
    const meant = [...sessions].filter(([, session]) => isMeant(session))
    for (const [key] of meant) sessions.delete(key)
    await Promise.all(meant.map(([, session]) => session.close()))
    return meant.length > 0
  }

  return {
    get: (key) => sessions.get(key),
    add(key, make) {
      if (sessions.size >= most) {
        throw new StartError(
          'too_many_sessions',
          `${most} sessions are open${where} already; close one first`,
        )
      }
      const session = make()
      sessions.set(key, session)
      return session
    },
    drop: (key) => void sessions.delete(key),
    list: () => [...sessions.values()].map((session) => session.info()),
    close: (name) => closeWhere((session) => session.info().name === name),
    closeAll: async () => void (await closeWhere(() => true)),
  }
}

/**
 * Throws `StartError` where no session can run the request, or not this one.
 * `shellName`: the program of its shell; null where a request cannot choose that.
 */
export function checkRequest(request: Request, shellName: string | null): void {
  if (request.command.includes('\0')) {
    throw new StartError('invalid_command', 'A command cannot hold a NUL character')
  }
  const { shell } = request
  if (shell !== null && shellName !== null && basename(shell) !== shellName) {
    throw new StartError(
      'session_shell',
      `This session runs ${shellName}; take another name for ${shell}`,
    )
  }
  if (request.pty !== null && Object.keys(request.env).length > 0) {
    throw new StartError(
      'session_environment',
      'A session on a terminal takes no variables for one command: set them in the command',
    )
  }
  for (const variable of Object.keys(request.env)) {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable) && !fixedVariables.has(variable)) continue
    throw new StartError(
      'session_environment',
      `A shell of a session cannot be given a variable of this name: ${variable}`,
    )
  }
}

/** Read-only in every bash. */
const fixedVariables = new Set(['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'PPID', 'SHELLOPTS', 'UID'])

/**
 * Throws `StartError` where a model asks for the session of a person or script, whose shell holds what a
 * model is not to have (the keys of model providers), or these for a model's, whose shell may be
 * prepared.
 */
export function checkOpener({ origin }: Request, session: string, opener: Origin): void {
  const { withholdsKeys } = originPolicies[opener]
  if (originPolicies[origin].withholdsKeys === withholdsKeys) return
  const whose = withholdsKeys ? 'a model' : 'a person or script'
  throw new StartError(
    'session_of_another',
    `Session ${session} was opened by ${whose}; take another name`,
  )
}

/** Throws `StartError` where the shell is confined to something else than the request asks for. */
export function checkConfinement(request: Request, session: string, confinement: string): void {
  const wanted = describeConfinement(request)
  if (confinement === wanted) return
  throw new StartError(
    'session_sandbox',
    `The shell of session ${session} runs with ${confinement}; take another name for ${wanted}`,
  )
}

/** Whether a sandboxed shell stands where no run may begin: outside of the workspace and its private /tmp. */
export function hasLeft({ sandbox, workspace, host }: Request, cwd: string): boolean {
  if (sandbox === 'off' || workspace === null || host !== null) return false
  return !isBelow(cwd, workspace) && !isBelow(cwd, '/tmp')
}

/** What a shell is confined to: for the reader, and to compare. */
export function describeConfinement({ sandbox, network, workspace }: Request): string {
  if (sandbox === 'off') return 'no sandbox'
  const place = workspace === null ? '' : ` of ${workspace}`
  return `sandbox ${sandbox}${place}, network ${network}`
}

/** A notice for the first run of the next shell. */
export function describeLoss(how: string, cwd: string): string {
  return `The session's shell ${how}: this ran in a fresh one in ${cwd}, without the variables and functions of before`
}
