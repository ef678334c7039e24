import type { Request } from '../protocol/request.ts'
import { allowed, type Decision, type Verdict } from '../protocol/verdict.ts'
import { createCommandTable } from './commands/commands.ts'
import { Inspection } from './inspection.ts'
import { builtInRules } from './rules/built-in.ts'
import type { Caught, Rule } from './rules/rule.ts'
import { type Grammar, loadGrammar, plainGrammar } from './shell/grammar.ts'
import { withoutMarks } from './shell/marked-text.ts'

/** A longer command is not read: the verdict is `ask`. */
export const maxCommandLength = 65_536

export interface GuardOptions {
  /** The home folder of the user whose commands run. Absolute. */
  readonly home: string
}

/** What the guard needs to know of a request. */
export type Question = Pick<Request, 'command' | 'origin' | 'cwd' | 'env' | 'guard'>

/** Makes the guard. The parser is loaded with the first command that needs it. */
export function createGuard(
  options: GuardOptions,
): (question: Question) => Verdict | Promise<Verdict> {
  const table = createCommandTable()
  let grammar: Grammar | null = null

  function judge(question: Question, using: Grammar): Verdict | null {
    const watched = new Findings(question)
    const rules = builtInRules.filter((rule) => question.guard && holds(rule, question))
    const inspection = new Inspection({
      grammar: using,
      table,
      home: options.home,
      directory: question.cwd,
      variables: question.env,
      saw(command, text, likelihood) {
        for (const rule of rules) {
          const caught = rule.check(command)
          if (!caught || (likelihood === 'defined' && !caught.certain)) continue
          watched.add(
            rule,
            { ...caught, certain: caught.certain && likelihood !== 'supposed' },
            text,
          )
        }
      },
      doubted: (reason, text) => watched.doubt(reason, text),
    })
    try {
      inspection.inspect(withoutMarks(question.command))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      watched.doubt('The command is nested too deeply to be read.', question.command)
    }
    return inspection.needsGrammar ? null : watched.verdict
  }

  return (question) => {
    if (!question.guard) return allowed
    if (question.command.length > maxCommandLength) {
      return unreadable(
        `The command is longer than ${maxCommandLength} characters, too long to be read.`,
        question.command,
      )
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

const holds = (rule: Rule, question: Question): boolean =>
  rule.holdsFor === 'everyone' || isAgent(question)

const strictness: readonly Decision[] = ['allow', 'redirect', 'ask', 'deny']

class Findings {
  verdict: Verdict = allowed
  private readonly question: Question

  constructor(question: Question) {
    this.question = question
  }

  add(rule: Rule, caught: Caught, text: string): void {
    const isOwn = !isAgent(this.question)
    const isDenial = rule.decision === 'deny' && caught.certain && !isOwn
    const decision = rule.decision === 'redirect' ? 'redirect' : isDenial ? 'deny' : 'ask'
    this.keep({
      decision,
      rule: rule.name,
      reason: `${rule.name}: \`${excerpt(text)}\` ${caught.does}. ${rule.instead}`,
      matched: excerpt(text),
      suggestedTool: caught.suggestedTool ?? null,
    })
  }

  doubt(reason: string, text: string): void {
    this.keep(unreadable(reason, text))
  }

  private keep(verdict: Verdict): void {
    if (strictness.indexOf(verdict.decision) > strictness.indexOf(this.verdict.decision))
      this.verdict = verdict
  }
}

function unreadable(reason: string, text: string): Verdict {
  return {
    decision: 'ask',
    rule: 'unreadable',
    reason: `unreadable: ${reason} Write it more plainly, or in several commands.`,
    matched: excerpt(text),
    suggestedTool: null,
  }
}

const excerpt = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text)
