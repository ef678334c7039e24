import { allowed, type Decision, type Verdict } from '../protocol/verdict.ts'
import type { Caught, Rule } from './rules/rule.ts'
import type { CompiledUserRule } from './rules/user-rules.ts'

const strictness: readonly Decision[] = ['allow', 'redirect', 'ask', 'deny']

/** Keeps the strictest verdict; of two equally strict ones the first. */
export class Findings {
  verdict: Verdict = allowed
  private readonly mayDeny: boolean

  /** `mayDeny`: false for a person's or script's own command, where a denial is a question. */
  constructor(mayDeny: boolean) {
    this.mayDeny = mayDeny
  }

  add(rule: Rule, caught: Caught, text: string): void {
    const isDenied = rule.decision === 'deny' && this.mayDeny && caught.certain
    const decision = rule.decision === 'deny' && !isDenied ? 'ask' : rule.decision
    this.keep(
      decision,
      rule.name,
      `\`${excerpt(text)}\` ${caught.does}. ${rule.instead}`,
      text,
      caught.suggestedTool,
    )
  }

  addUserRule({ name, rule }: CompiledUserRule, text: string): void {
    const label = name.replace(/^"(.*)"$/s, '$1')
    const fallback = `\`${excerpt(text)}\` is caught by a rule of the user.`
    this.keep(
      rule.decision,
      /^\d+$/.test(label) ? `user-rule-${label}` : label,
      rule.reason ?? fallback,
      text,
      rule.suggestedTool,
    )
  }

  /** What cannot be read is never allowed. */
  doubt(reason: string, text: string): void {
    const message = `\`${excerpt(text)}\` cannot be read to its end. ${reason} Write it more plainly, or in several commands.`
    this.keep('ask', 'unreadable', message, text)
  }

  private keep(
    decision: Decision,
    rule: string,
    message: string,
    text: string,
    suggestedTool?: string,
  ): void {
    if (strictness.indexOf(decision) <= strictness.indexOf(this.verdict.decision)) return
    this.verdict = {
      decision,
      rule,
      reason: `${rule}: ${message}`,
      matched: excerpt(text),
      suggestedTool: suggestedTool ?? null,
    }
  }
}

const excerpt = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text)
