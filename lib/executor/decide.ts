import type { Guard } from '../protocol/ports.ts'
import { originPolicies } from '../protocol/origin.ts'
import type { Request } from '../protocol/request/request.ts'
import { allowed, type Verdict } from '../protocol/rules.ts'
import { joinWords } from '../protocol/words.ts'
import type { RunOptions } from './options.ts'

/** The guard's verdict; where that is to ask, the answer of the person who can be asked decides. */
export async function decide(
  request: Request,
  guard: Guard,
  { approve, signal }: RunOptions,
): Promise<Verdict> {
  const verdict = await judge(request, guard)
  if (verdict.decision !== 'ask') return verdict
  if (await approve?.(request, verdict, signal)) return allowed
  const hint = approve ? '' : ` Nobody can be asked here; ${howToAllow(request)}.`
  return { ...verdict, decision: 'deny', reason: `${verdict.reason ?? ''}${hint}` }
}

/** Of an array of commands, the strictest verdict over them. */
function judge(request: Request, guard: Guard): Verdict | Promise<Verdict> {
  if (request.array?.commands) return judgeAll(request.array.commands, request, guard)
  const command = wholeCommand(request)
  return guard(command === request.command ? request : { ...request, command })
}

async function judgeAll(
  commands: readonly string[],
  request: Request,
  guard: Guard,
): Promise<Verdict> {
  const verdicts: Verdict[] = []
  for (const command of new Set(commands)) verdicts.push(await guard({ ...request, command }))
  const rank = ({ decision }: Verdict) => strictness.indexOf(decision)
  return verdicts.reduce((one, other) => (rank(other) > rank(one) ? other : one), allowed)
}

const strictness: readonly Verdict['decision'][] = ['allow', 'redirect', 'ask', 'deny']

/** The command with what it finds as its parameters, since what it does depends on them. */
function wholeCommand({ command, args, script, parameters }: Request): string {
  if (args !== null || script !== null || parameters.length === 0) return command
  return joinWords(['bash', '-c', command, ...parameters])
}

/** A model must not be told how to get round the guard; its user may do it. */
function howToAllow({ origin }: Request): string {
  return originPolicies[origin].liftedBy === 'user'
    ? 'if it is meant, the user can run it'
    : '--no-guard allows it for one call'
}
