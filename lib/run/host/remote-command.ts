import { resolve } from 'node:path'
import { takesOwnShell } from '../../protocol/origin.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import { quoteWord } from '../../protocol/words.ts'
import { markVariable, ownerVariable } from '../../system/process/own-process.ts'
import { buildEnvironment } from '../environment.ts'
import type { HostClient } from './client.ts'
import { type CarryingNacre, markThere, type RemoteCommand } from './script.ts'
import type { StopThere } from './stop.ts'

/**
 * What a request is on another machine. `startsIn`: the directory here in which it begins, if the
 * machines see the same files; null: where the client begins.
 */
export function describeCommand(
  request: Request,
  name: string,
  startsIn: string | null,
): RemoteCommand {
  const given = request.cwdGiven ? request.cwd : null
  return {
    name,
    mark: quoteWord(markThere(request.id)),
    command: quoteWord(request.command),
    cwd: startsIn === null ? given : resolve(startsIn, given ?? '.'),
    shell: request.shell,
    login: request.login,
    // A scheduler counts the memory of whatever runs in a job.
    nacre: startsIn === null ? describeNacre(request) : null,
    ownShell: takesOwnShell(request),
    env: { ...describeEnvironment(request), ...request.env },
    merged: request.streams === 'merged',
    input: describeInput(request),
    stop: describeStop(request),
    endsByTerm: startsIn !== null,
  }
}

/** What this side adds to the environment over there. */
export function describeEnvironment(request: Request): Record<string, string> {
  const environment = buildEnvironment(
    { ...request, env: {} },
    { inherited: {}, hidden: new Set(), path: '/bin', toTerminal: false, owner: '' },
  )
  for (const own of ['PWD', markVariable, ownerVariable]) delete environment[own]
  if (request.pty) delete environment['TERM']
  return environment
}

function describeInput({ pty, stdin }: Request): RemoteCommand['input'] {
  if (pty) return { kind: 'terminal', size: pty }
  if (stdin.kind === 'text') return { kind: 'lifeline', text: stdin.text }
  const readsNothing = stdin.kind === 'none'
  return readsNothing ? { kind: 'lifeline', text: null } : { kind: 'client' }
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

/** Throws `StartError` for what a run on another machine cannot have, before anything travels. */
export function refuseWhatIsMissing(request: Request, { scheduler }: HostClient): void {
  const { session, pty, stdin, host, cores, memory, sbatch, sandbox, sandboxMayFallBack } = request
  if (session !== null && (pty !== null || stdin.kind !== 'none')) {
    const what = pty === null ? 'reads no input' : 'has no terminal'
    throw refuse('host_session', `A session on the host ${host} ${what}; run without one`)
  }
  if (session !== null && scheduler) {
    throw refuse('host_session', `A scheduler keeps no session; run on ${host} without one`)
  }
  const field =
    cores !== null ? 'cores' : memory !== null ? 'memory' : sbatch.length > 0 && 'sbatch'
  if (!scheduler && field) {
    const message = `\`${field}\` is for a scheduler, and the host ${host} is none; leave it out, or name slurm://[partition]`
    throw refuse('no_scheduler', message)
  }
  if (sandbox !== 'off' && !sandboxMayFallBack && (scheduler || session !== null)) {
    const why = session === null ? 'a scheduler has none' : 'a session there has none'
    throw refuse('sandbox_unavailable', `The host ${host} has no sandbox for this run: ${why}`)
  }
}

/** A longer script does not fit into one word of a program (execve(2): 128 KiB), encoded. */
const longestScript = 90 * 1024

/** Throws `StartError`. */
export function checkLength(script: string): string {
  if (script.length <= longestScript) return script
  const message = `The command is too long for another machine: ${script.length} bytes with its environment, and at most ${longestScript} are passed on`
  throw refuse('too_long', message)
}

const refuse = (code: string, message: string) => new StartError(code, message)
