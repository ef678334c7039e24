import { resolve } from 'node:path'
import { limits } from '../../protocol/limits.ts'
import { takesOwnShell } from '../../protocol/origin.ts'
import type { Request } from '../../protocol/request/request.ts'
import { buildEnvironment } from '../environment.ts'
import { markVariable, ownerVariable } from '../stop.ts'
import { markThere, type RemoteCommand } from './script.ts'

/**
 * What a request is on another machine. `startsIn`: the directory here in which it begins, where the
 * machines see the same files; null: where the client begins.
 */
export function describeCommand(
  request: Request,
  name: string,
  startsIn: string | null,
): RemoteCommand {
  const { stdin } = request
  const given = request.cwdGiven ? request.cwd : null
  const environment = buildEnvironment(request, {
    base: {},
    falsePath: '/bin/false',
    toTerminal: false,
    owner: '',
  })
  for (const own of ['PWD', markVariable, ownerVariable]) delete environment[own]
  if (request.pty) delete environment['TERM']
  return {
    name,
    mark: markThere(request.id),
    command: request.command,
    cwd: startsIn === null ? given : resolve(startsIn, given ?? '.'),
    shell: request.shell,
    login: request.login,
    nacre: null,
    ownShell: takesOwnShell(request),
    env: { ...environment, ...request.env },
    merged: request.streams === 'merged',
    input: request.pty
      ? { kind: 'terminal' }
      : stdin.kind === 'text'
        ? { kind: 'lifeline', text: stdin.text }
        : stdin.kind === 'none' || stdin.kind === 'closed'
          ? { kind: 'lifeline', text: null }
          : { kind: 'client' },
    graceSeconds: limits.stopGraceMs / 1000,
  }
}
