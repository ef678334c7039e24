import { resolve } from 'node:path'
import { takesOwnShell } from '../../protocol/origin.ts'
import type { Request } from '../../protocol/request/request.ts'
import { buildEnvironment } from '../environment.ts'
import { type CarryingNacre, markThere, type RemoteCommand } from './script.ts'
import type { StopThere } from './stop-script.ts'
import { markVariable, ownerVariable } from '../../system/process/run-variables.ts'

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
    inherited: {},
    hidden: new Set(),
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
    // A scheduler counts the memory of whatever runs in a job.
    nacre: startsIn === null ? describeNacre(request) : null,
    ownShell: takesOwnShell(request),
    env: { ...environment, ...request.env },
    merged: request.streams === 'merged',
    input: request.pty
      ? { kind: 'terminal', size: request.pty }
      : stdin.kind === 'text'
        ? { kind: 'lifeline', text: stdin.text }
        : stdin.kind === 'none' || stdin.kind === 'closed'
          ? { kind: 'lifeline', text: null }
          : { kind: 'client' },
    stop: describeStop(request),
    endsByTerm: startsIn !== null,
  }
}

/** How a run is stopped over there; `interrupt`: as a person's Ctrl-C does it. */
export function describeStop({ signal, killAfterMs }: Request, interrupt = false): StopThere {
  const name = signal.replace(/^SIG/, '')
  return { signals: interrupt ? ['INT', name] : [name], graceSeconds: killAfterMs / 1000 }
}

/** The guard has judged the command here, and the script gives the environment. */
function describeNacre(request: Request): CarryingNacre | null {
  const { sandbox, sandboxMayFallBack, network, workspace, signal, killAfterMs, pty } = request
  const confines = sandbox !== 'off'
  // It would stand between the command and its terminal.
  if (pty && !confines) return null
  const words = [
    `--sandbox=${sandbox}`,
    `--network=${network}`,
    ...(workspace === null ? [] : [`--workspace=${workspace}`]),
    `--signal=${signal.replace(/^SIG/, '')}`,
    `--kill-after=${killAfterMs}ms`,
    '--timeout=0',
    '--no-guard',
    '--no-harden',
  ]
  return { words, confines, isNeeded: confines && !sandboxMayFallBack }
}
