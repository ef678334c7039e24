import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createGuard } from '../../lib/guard/guard.ts'
import { Interpreter } from '../../lib/guard/interpreter/interpreter.ts'
import type { GuardOptions, Question, SeenCommand } from '../../lib/guard/rules/rule.ts'
import { loadGrammar } from '../../lib/guard/shell/grammar.ts'
import type { Verdict } from '../../lib/protocol/rules.ts'

export const home = '/home/u'
export const cwd = '/home/u/code/app'

/** The lines of a table of cases. */
export function readTable<T>(name: string): T[] {
  const path = join(import.meta.dirname, '../../fixtures/guard', name)
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)
}

export type Ask = (command: string, question?: Partial<Question>) => Promise<Verdict>

/** A guard as an agent meets it. */
export function guardFor(options: Partial<GuardOptions> = {}): Ask {
  const guard = createGuard({ home, ...options })
  return async (command, question) =>
    guard({ command, origin: 'agent', cwd, env: {}, guard: true, ...question })
}

/** Every command that the reading comes upon; with doubts as `[]`, where the caller wants them. */
export async function seenCommands(
  script: string,
  places: { home: string; cwd: string },
  doubts: string[] = [],
): Promise<SeenCommand[]> {
  const seen: SeenCommand[] = []
  new Interpreter({
    grammar: await loadGrammar(),
    home: places.home,
    directory: places.cwd,
    variables: {},
    saw: (command) => seen.push(command),
    doubted: (reason) => doubts.push(reason),
  }).inspect(script)
  return seen
}
