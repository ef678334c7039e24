import { usualSize } from '../../protocol/limits.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { PrepareLaunch } from '../launch.ts'
import type { SessionRunner } from '../session/sessions.ts'
import { createShelf } from '../session/shelf.ts'
import { loadPtyParts } from '../terminal/start.ts'
import type { PtyParts } from '../terminal/start.ts'
import type { ControlGroups } from '../../system/process/control-group.ts'
import type { Uninherited } from '../../system/process/spawn.ts'
import { editorBash } from './editor-bash.ts'
import type { EditorDialect } from './editor-dialect.ts'
import { editorFish } from './editor-fish.ts'
import { editorZsh } from './editor-zsh.ts'
import { createTerminalSession, type TerminalSession } from './terminal-session.ts'

/** The same for requests with a session name and a terminal. */
export interface TerminalSessionRunner extends SessionRunner {
  open(request: Request): TerminalSession
}

/** Keeps shells on terminals by name. No state outside of the object that this gives back. */
export function createTerminalSessionRunner(options: {
  prepare: PrepareLaunch
  uninherited: Uninherited
  groups?: ControlGroups
}): TerminalSessionRunner {
  const sessions = createShelf<TerminalSession>()
  let parts: PtyParts | { missing: string } | null = null

  function openParts(): PtyParts {
    parts ??= loadPtyParts({ uninherited: options.uninherited, groups: options.groups })
    if (!('missing' in parts)) return parts
    throw new StartError('pty_unavailable', `No terminal for this session: ${parts.missing}`)
  }

  function find(request: Request): TerminalSession {
    const { session: name, pty } = request
    if (name === null) throw new TypeError('This request names no session')
    const create = () =>
      createTerminalSession(name, {
        prepare: options.prepare,
        parts: openParts,
        dialectOf: (shell) => dialects.get(shell) ?? null,
        opener: request.origin,
        cwd: request.cwd,
        size: pty ?? usualSize,
      })
    return sessions.get(name) ?? sessions.add(name, create)
  }

  return {
    runner: async (request, sink) => find(request).run(request, sink),
    open(request) {
      const session = find(request)
      session.open(request)
      return session
    },
    list: () => sessions.list(),
    close: (name) => sessions.close(name),
    closeAll: () => sessions.closeAll(),
  }
}

const dialects: ReadonlyMap<string, EditorDialect> = new Map([
  ['bash', editorBash],
  ['zsh', editorZsh],
  ['fish', editorFish],
])
