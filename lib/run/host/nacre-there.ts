import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { SandboxUse } from '../../protocol/result/result.ts'
import { quoteWord } from '../../protocol/words.ts'
import { callThere, type HostClient } from './client.ts'
import { noRcFile } from './script.ts'

/** A nacre on another machine, which confines runs there as it does for whoever calls it there. */
export interface NacreThere {
  program: string
  /** What its sandbox is there. */
  sandbox: SandboxUse
}

/** How long the nacre there may take to start and to try what the kernel there lets a sandbox do. */
const answerMs = 15_000

/** Finds what confines runs on other machines, once for each kind of confinement. */
export interface SandboxesThere {
  /** Null: the run goes unconfined. Rejects with `StartError` where it must not. */
  confine(request: Request, host: string, client: HostClient): Promise<NacreThere | null>
}

export function createSandboxesThere(): SandboxesThere {
  const known = new Map<string, Promise<NacreThere | string>>()

  async function find(
    request: Request,
    host: string,
    client: HostClient,
  ): Promise<NacreThere | string> {
    if (client.scheduler !== null) return 'a scheduler has none'
    if (request.session !== null) return 'a session there has none'
    const key = [host, ...composeSandbox(request)].join(' ')
    const before = await known.get(key)
    // A run that must have a sandbox looks again, since nacre may have been installed there meanwhile.
    const isEnough = typeof before === 'object' || request.sandboxMayFallBack
    if (before !== undefined && isEnough) return before
    const found = findNacre(client, request)
    known.set(key, found)
    found.catch(() => known.delete(key))
    return found
  }

  return {
    async confine(request, host, client) {
      if (request.sandbox === 'off') return null
      const found = await find(request, host, client)
      if (typeof found !== 'string') return found
      if (request.sandboxMayFallBack) return null
      const message = `The host ${host} has no sandbox for this run: ${found}`
      throw new StartError({ code: 'sandbox_unavailable', message, exitCode: 125 })
    },
  }
}

/** Looks for a nacre there, also on the path of a login shell, and tries its sandbox. A text says what is missing. */
async function findNacre(client: HostClient, request: Request): Promise<NacreThere | string> {
  const words = composeSandbox(request).map(quoteWord).join(' ')
  const script = [
    noRcFile,
    'nacre=$(command -v nacre || "${SHELL:-sh}" -lc "command -v nacre" </dev/null 2>/dev/null | tail -n 1)',
    '[ -n "$nacre" ] || { echo missing; exit; }',
    'printf "found %s\\n" "$nacre"',
    `"$nacre" ${words} --output-format json -c : </dev/null`,
  ].join('\n')
  await client.connect()
  const said = await callThere(client, script, answerMs)
  if (said === '') return 'it did not answer'
  const [, program, answer = ''] = /^found (.*)\n([^]*)/m.exec(said) ?? []
  if (program === undefined) return 'nacre is not installed there'
  const { sandbox, error } = readAnswer(answer)
  return sandbox ? { program, sandbox } : (error?.message ?? `${program} does not work there`)
}

/** The words that stand before `-c` and the command over there. */
export function composeNacre({ program }: NacreThere, request: Request): string[] {
  return [program, ...composeSandbox(request), '--quiet']
}

/** The guard has judged the command here, before it travels. */
function composeSandbox({ sandbox, network, workspace, hardening }: Request): string[] {
  return [
    `--sandbox=${sandbox}`,
    `--network=${network}`,
    ...(workspace === null ? [] : [`--workspace=${workspace}`]),
    ...(hardening ? [] : ['--no-harden']),
    '--no-guard',
  ]
}

function readAnswer(text: string): { sandbox?: SandboxUse; error?: { message: string } | null } {
  try {
    return JSON.parse(text) as { sandbox?: SandboxUse }
  } catch {
    return {}
  }
}
