import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { HostClient } from './client.ts'

/** A longer script does not fit into one word of a program (execve(2): 128 KiB), encoded. */
const longestScript = 90 * 1024

/** What a run on another machine cannot have is said before anything travels. Throws `StartError`. */
export function refuseWhatIsMissing(request: Request, client: HostClient): void {
  refuseSession(request)
  if (client.scheduler === null) refuseSchedulerFields(request)
  refuseSandbox(request, client)
}

function refuseSession(request: Request): void {
  const { session, stdin } = request
  if (session !== null && (request.pty !== null || !['none', 'closed'].includes(stdin.kind))) {
    const what = request.pty === null ? 'reads no input' : 'has no terminal'
    const message = `A session on the host ${request.host} ${what}; run without one`
    throw new StartError('host_session', message)
  }
}

/** A run that must have a sandbox gets one from a nacre over there, and only a run of its own. */
function refuseSandbox(
  { sandbox, sandboxMayFallBack, session, host }: Request,
  client: HostClient,
) {
  const isRefused = client.scheduler !== null || session !== null
  if (sandbox === 'off' || sandboxMayFallBack || !isRefused) return
  const why = session === null ? 'a scheduler has none' : 'a session there has none'
  const message = `The host ${host} has no sandbox for this run: ${why}`
  throw new StartError('sandbox_unavailable', message)
}

function refuseSchedulerFields({ cores, memory, sbatch, host }: Request): void {
  const field = cores !== null ? 'cores' : memory !== null ? 'memory' : 'sbatch'
  if (cores === null && memory === null && sbatch.length === 0) return
  const message = `\`${field}\` is for a scheduler, and the host ${host} is none; leave it out, or name slurm://[partition]`
  throw new StartError('no_scheduler', message)
}

export function checkLength(script: string): void {
  if (script.length <= longestScript) return
  const message = `The command is too long for another machine: ${script.length} bytes with its environment, and at most ${longestScript} are given on`
  throw new StartError('too_long', message)
}
