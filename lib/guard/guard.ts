import type { UserRule } from '../protocol/user-rule.ts'
import type { Request } from '../protocol/request.ts'
import { allowed, type Verdict } from '../protocol/verdict.ts'
import { createCommandTable } from './commands/commands.ts'
import { Findings } from './findings.ts'
import { Interpreter } from './interpreter.ts'
import { mentionsDanger } from './plain-danger.ts'
import { builtInRules } from './rules/built-in.ts'
import type { Rule } from './rules/rule.ts'
import { createSuggestTool, type SuggestTool } from './rules/suggest-tool.ts'
import { requireUserRules } from './rules/user-rules.ts'
import { type Grammar, loadGrammar, plainGrammar } from './shell/grammar.ts'

/** A longer command is not read: the verdict is `ask`. */
export const maxCommandLength = 262_144

export interface GuardOptions {
  /** The home folder of the user whose commands run. Absolute. */
  readonly home: string
  /** Rules of the user; they hold for everyone, whatever `guard` of the request says. */
  readonly rules?: readonly UserRule[]
  /** Off by default. `true` takes the usual names of such tools. */
  readonly suggestTool?: SuggestTool | boolean
  /** The tools that the caller has beside the shell; a function where they are told later. */
  readonly toolNames?: readonly string[] | (() => readonly string[])
}

/** What the guard needs to know of a request. */
export type Question = Pick<Request, 'command' | 'origin' | 'cwd' | 'env' | 'guard'>

/**
 * Makes the guard. The parser is loaded with the first command that needs it; until then, and for
 * every plain command, the answer comes at once.
 *
 * @throws MisuseError `invalid_guard_rule`, with a sentence for each rule that is wrong.
 */
export function createGuard(
  options: GuardOptions,
): (question: Question) => Verdict | Promise<Verdict> {
  const table = createCommandTable()
  const userRules = requireUserRules(options.rules ?? [])
  const listOwnRules = createOwnRules(options)
  let grammar: Grammar | null = null

  function judge(question: Question, using: Grammar): Verdict | null {
    const findings = new Findings(isAgent(question))
    const rules = question.guard ? listOwnRules().filter((rule) => holds(rule, question)) : []
    const interpreter = new Interpreter({
      grammar: using,
      table,
      home: options.home,
      directory: question.cwd,
      variables: question.env,
      saw(command, text, likelihood) {
        for (const rule of rules) {
          const caught = rule.check(command)
          if (!caught || (likelihood === 'defined' && !caught.certain)) continue
          findings.add(
            rule,
            { ...caught, certain: caught.certain && likelihood !== 'supposed' },
            text,
          )
        }
        for (const rule of userRules) if (rule.matches(command)) findings.addUserRule(rule, text)
      },
      doubted(reason, text, kind) {
        if (kind === 'unknown' || matters(question)) findings.doubt(reason, text)
      },
    })
    for (const rule of userRules) {
      if (rule.matchesText(question.command)) findings.addUserRule(rule, question.command)
    }
    try {
      interpreter.inspect(question.command)
    } catch (error) {
      // The stack, used up by nesting: nothing was started, and nothing else throws one.
      if (!(error instanceof RangeError)) throw error
      findings.doubt('It is nested too deeply.', question.command)
    }
    return interpreter.needsGrammar ? null : findings.verdict
  }

  return (question) => {
    if (!question.guard && userRules.length === 0) return allowed
    if (question.command.length > maxCommandLength) {
      if (!matters(question)) return allowed
      const findings = new Findings(isAgent(question))
      findings.doubt(`It is longer than ${maxCommandLength} characters.`, question.command)
      return findings.verdict
    }
    const early = judge(question, grammar ?? plainGrammar)
    if (early) return early
    return loadGrammar().then((loaded) => {
      grammar = loaded
      return judge(question, loaded) ?? allowed
    })
  }
}

const isAgent = ({ origin }: Question): boolean => origin === 'agent' || origin === 'mcp'

/** The built-in rules, and the suggestion of a tool where the caller has one. */
function createOwnRules({ suggestTool, toolNames = [] }: GuardOptions): () => readonly Rule[] {
  const readNames = typeof toolNames === 'function' ? toolNames : () => toolNames
  let names: readonly string[] | null = null
  let rules: readonly Rule[] = builtInRules
  return () => {
    const current = readNames()
    if (current === names) return rules
    names = current
    const suggestion = createSuggestTool(suggestTool, names)
    rules = suggestion ? [...builtInRules, suggestion] : builtInRules
    return rules
  }
}

/** What a person or a script got wrong is for the shell to tell, unless it may do harm. */
const matters = (question: Question): boolean =>
  isAgent(question) || mentionsDanger(question.command)

const holds = (rule: Rule, question: Question): boolean =>
  rule.holdsFor === 'everyone' || isAgent(question)
