import { whenAborted } from '../protocol/deferred.ts'
import { originPolicies } from '../protocol/origin.ts'
import type { Guard, StartFailure } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import { allowed, strictnessOf, type Verdict } from '../protocol/rules.ts'
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
  return verdicts.reduce(
    (one, other) => (strictnessOf(other.decision) > strictnessOf(one.decision) ? other : one),
    allowed,
  )
}

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

/**
 * Settles when it is this run's turn to take its place among those of its session, or the signal aborts or nacre
 * ends. Gives why it may not begin, if its session was closed meanwhile.
 */
export type Turn = (signal: AbortSignal | undefined) => Promise<StartFailure | null>

/**
 * Has the runs of each session take their places in the order in which they were asked for: what comes
 * before, such as the guard, may take longer for one than for the next. What waits here is no run yet: it is
 * in no list, and its deadline has not begun.
 */
export function createSessionOrder(ending: AbortSignal) {
  const last = new Map<string, Promise<unknown>>()
  /** How often the sessions of a name have been closed. */
  const closings = new Map<string, number>()

  return {
    /** Those that wait in the sessions of this name do not begin. */
    dismiss: (session: string) => void closings.set(session, (closings.get(session) ?? 0) + 1),
    /** `begin` waits for its turn; once it has settled, the next run of the session has its own. */
    enter<T>({ session, host, pty }: Request, begin: (turn: Turn) => Promise<T>): Promise<T> {
      if (session === null) return begin(async () => null)
      // On another machine, or on a terminal, it is another session.
      const key = JSON.stringify([session, host, pty])
      const before = last.get(key)
      const closed = closings.get(session)
      const begun = begin(async (signal) => {
        if (before) {
          const either = AbortSignal.any([ending, ...(signal ? [signal] : [])])
          await Promise.race([before, whenAborted(either)])
        }
        if (closings.get(session) === closed) return null
        return { code: 'session_closed', message: `Session ${session} has been closed` }
      })
      const settled = Promise.allSettled([before, begun]).then(() => {
        if (last.get(key) === settled) last.delete(key)
      })
      last.set(key, settled)
      return begun
    },
  }
}
