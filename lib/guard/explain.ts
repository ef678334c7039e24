import type { Origin } from '../protocol/request.ts'
import type { Verdict } from '../protocol/verdict.ts'
import { allowed } from '../protocol/verdict.ts'
import type { Question } from './guard.ts'

/** What `nacre guard` is asked of one command. */
export interface ExplainInput {
  readonly command: string
  /** Default `agent`. */
  readonly origin?: Origin
  /** Absolute. */
  readonly cwd: string
}

/** What the guard says of a command, without running it; an allowed one has nulls beside the decision. */
export async function explain(
  guard: (question: Question) => Verdict | Promise<Verdict>,
  { command, origin = 'agent', cwd }: ExplainInput,
): Promise<Verdict> {
  if (command.trim() === '') return allowed
  return guard({ command, origin, cwd, env: {}, guard: true })
}
