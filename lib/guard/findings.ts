import { allowed, type Decision, strictnessOf, type Verdict } from '../protocol/rules.ts'
import type { Caught, Rule, SeenCommand } from './rules/rule.ts'
import { type CompiledUserRule, prefixOf } from './rules/user-rules.ts'

/** What one rule says of one command. */
interface Finding {
  readonly decision: Decision
  readonly rule: string
  readonly message: string
  readonly text: string
  readonly suggestedTool: string | null
  /** Whether only an `allow` rule that names the rule in `lifts` lifts it. */
  readonly isFirm: boolean
  /** The part that this finding is about. Default: all parts of the command that no rule allows. */
  readonly unlisted?: SeenCommand
}

/** Gathers what the rules say, command by command, and keeps the strictest verdict. */
export class Findings {
  private strictest: Finding | null = null
  /** Of the command that is being looked at. */
  private current: Finding[] = []
  /** What rules would have to allow so that nothing is asked; null among it: no rule can. */
  private readonly prefixes = new Set<string | null>()
  private readonly liftedEverywhere: readonly CompiledUserRule[]
  private readonly mayDeny: boolean

  /**
   * `mayDeny`: false for a person's or script's own command, where a denial is a question.
   * `liftedBy`: the `allow` rules that hold for the whole text.
   */
  constructor(mayDeny: boolean, liftedBy: readonly CompiledUserRule[] = []) {
    this.mayDeny = mayDeny
    this.liftedEverywhere = liftedBy
  }

  get verdict(): Verdict {
    if (!this.strictest) return allowed
    const { decision, rule, message, text, suggestedTool } = this.strictest
    const prefixes = [...this.prefixes].filter((prefix) => prefix !== null)
    const mayLast = decision === 'ask' && prefixes.length === this.prefixes.size
    return {
      decision,
      rule,
      reason: `${rule}: ${message}`,
      matched: excerpt(text),
      suggestedTool,
      ...(mayLast ? { prefixes } : {}),
    }
  }

  /** Notes that a built-in rule has caught the command. */
  add({ name, decision: own, instead }: Rule, caught: Caught, text: string): void {
    const isDenied = own === 'deny' && this.mayDeny && caught.certain
    this.current.push({
      decision: own === 'deny' && !isDenied ? 'ask' : own,
      rule: name,
      message: `\`${excerpt(text)}\` ${caught.does}. ${caught.instead ?? instead}`,
      text,
      suggestedTool: caught.suggestedTool ?? null,
      isFirm: own === 'deny' && caught.certain,
    })
  }

  /** Notes that a rule of the user has caught the command. */
  addUserRule({ name, rule: { decision, reason, suggestedTool } }: CompiledUserRule, text: string) {
    const said = reason ?? `\`${excerpt(text)}\` is caught by a rule of the user.`
    const sentence = /[.!?]$/.test(said) ? said : `${said}.`
    const names = suggestedTool === undefined || said.split(/[^\w.-]+/).includes(suggestedTool)
    this.current.push({
      decision,
      rule: name,
      message: names ? said : `${sentence} Use the tool \`${suggestedTool}\` instead.`,
      text,
      suggestedTool: suggestedTool ?? null,
      isFirm: decision === 'deny',
    })
  }

  /** Notes a command that no rule allows, where everything else is to be stopped. */
  addUnlisted(decision: Decision, command: string, unlisted: SeenCommand): void {
    const [path] = unlisted.words.length === 0 ? unlisted.writes : []
    const text = path ? `> ${path.chars}` : command
    const message = `\`${excerpt(text)}\` is not among what the rules allow, and everything else is ${decision === 'deny' ? 'denied' : 'asked about'} here.`
    const rule = 'guard.default'
    this.current.push({
      ...{ decision, rule, message, text, suggestedTool: null, isFirm: true, unlisted },
    })
  }

  /** Notes what cannot be read: it is never allowed. */
  doubt(reason: string, text: string): void {
    const message = `\`${excerpt(text)}\` cannot be read to its end. ${reason} Write it more plainly, or in several commands.`
    const decision = 'ask'
    const rule = 'unreadable'
    this.settle([{ decision, rule, message, text, suggestedTool: null, isFirm: false }], [], [])
  }

  /**
   * Ends one command: takes away what `allow` rules that hold for it lift, and keeps the rest. `open`: the
   * parts of it that no rule allows.
   */
  endCommand(liftedBy: readonly CompiledUserRule[], open: readonly SeenCommand[]): void {
    if (this.current.length === 0) return
    this.settle(this.current, liftedBy, open)
    this.current = []
  }

  private settle(
    findings: readonly Finding[],
    liftedBy: readonly CompiledUserRule[],
    open: readonly SeenCommand[],
  ): void {
    const allowing = [...liftedBy, ...this.liftedEverywhere]
    for (const finding of findings) {
      const isLifted = finding.isFirm
        ? allowing.some(({ lifts }) => lifts.includes(finding.rule))
        : allowing.length > 0
      if (isLifted) continue
      if (finding.decision === 'ask') {
        const parts = finding.unlisted ? [finding.unlisted] : finding.isFirm ? [] : open
        for (const prefix of parts.length === 0 ? [null] : parts.map(prefixOf))
          this.prefixes.add(prefix)
      }
      if (rank(finding) > rank(this.strictest)) this.strictest = finding
    }
  }
}

/** Of two equally strict findings the first one stays. */
const rank = (finding: Finding | null): number => strictnessOf(finding?.decision ?? 'allow')

const excerpt = (text: string): string => (text.length > 200 ? `${text.slice(0, 199)}…` : text)
