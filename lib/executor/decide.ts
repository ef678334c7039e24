import type { Guard } from '../protocol/ports.ts'
import type { Request } from '../protocol/request.ts'
import { allowed, type Verdict } from '../protocol/verdict.ts'
import type { RunOptions } from './options.ts'

/** The guard's verdict, where it asks with the answer of whoever can be asked. */
export async function decide(
  request: Request,
  guard: Guard,
  approve: RunOptions['approve'],
): Promise<Verdict> {
  const verdict = await guard(request)
  if (verdict.decision !== 'ask') return verdict
  if (await approve?.(request, verdict)) return allowed
  const hint = approve ? '' : ` Nobody can be asked here; ${howToAllow(request)}.`
  return { ...verdict, decision: 'deny', reason: `${verdict.reason ?? ''}${hint}` }
}

/** A model must not be told how to get round the guard; its user may do it. */
function howToAllow({ origin }: Request): string {
  return origin === 'agent' || origin === 'mcp'
    ? 'if it is meant, the user can run it'
    : '--no-guard allows it for one call'
}
