import { MisuseError } from '../../protocol/errors.ts'
import type { UserRule } from '../../protocol/user-rule.ts'
import type { Decision } from '../../protocol/verdict.ts'
import { Text } from '../shell/text.ts'
import { type PatternBudget, PatternTester } from './pattern.ts'
import { ruleNames, type SeenCommand } from './rule.ts'

/** A rule of the user that is right. */
export interface CompiledUserRule {
  /** As messages and verdicts name it: `user-rule-1` where it has no name of its own. */
  readonly name: string
  readonly rule: UserRule
  /** Built-in rules whose denial it lifts. */
  readonly lifts: readonly string[]
  /** Whether it holds for the text as it was given. */
  matchesText(text: string, budget: PatternBudget): boolean
  /** Whether it holds for one command in it. */
  matches(command: SeenCommand, budget: PatternBudget): boolean
  /** Commands that it must match, and that it must not. */
  readonly examples: readonly { readonly command: string; readonly matches: boolean }[]
}

const decisions: readonly Decision[] = ['allow', 'ask', 'redirect', 'deny']
const exampleKinds = [...decisions, 'match', 'notMatch']
const keys = `name match notMatch decision reason suggestedTool lifts raw examples untrusted`.split(
  ' ',
)

/** What stands in a regular expression and hardly in a command. */
const looksLikeRegex = /^\/?\^|[^\\ ]\$$|\.[*+]|\\[bBdDsSwW.]|\(\?|\([^)]*\|[^)]*\)|\[[^\]]*\][*+?]/

/**
 * Reads the rules of a configuration. Every fault is a sentence that names the rule; a rule with a
 * fault is in `problems` and not in `rules`.
 */
export function compileUserRules(input: unknown): {
  rules: CompiledUserRule[]
  problems: string[]
} {
  if (!Array.isArray(input)) {
    return { rules: [], problems: ['guard.rules: it must be a list of rules.'] }
  }
  const tester = new PatternTester()
  const rules: CompiledUserRule[] = []
  const problems: string[] = []
  for (const [index, entry] of input.entries()) {
    const fault = faultOf(entry)
    if (fault === null) rules.push(compile(entry as UserRule, index, tester))
    else problems.push(`guard rule ${labelOf(entry, index)}: ${fault}`)
  }
  return { rules, problems }
}

/** The error that says everything that is wrong with the rules. */
export const invalidRules = (problems: readonly string[]): MisuseError =>
  new MisuseError('invalid_guard_rule', problems.join('\n'), 'guard.rules')

/** How a message calls a rule: by its name, else by its place in the list. */
function labelOf(entry: unknown, index: number): string {
  const given = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : null
  return typeof given === 'string' && given !== '' ? `"${given}"` : `${index + 1}`
}

function faultOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return 'it must be an object with `match` and `decision`.'
  }
  const rule: Record<string, unknown> = { ...entry }
  const unknownKey = Object.keys(rule).find((key) => !keys.includes(key))
  if (unknownKey !== undefined) {
    return `\`${unknownKey}\` is not a key of a rule; the keys are ${keys.slice(0, -1).join(', ')}.`
  }
  const { match, decision, raw, notMatch = [], suggestedTool, lifts } = rule
  if (typeof match !== 'string' || match.trim() === '') {
    return '`match` must be a command prefix or a /regular expression/.'
  }
  if (!decisions.includes(decision as Decision)) {
    return `\`decision\` must be one of ${decisions.join(', ')}.`
  }
  for (const key of ['name', 'reason', 'suggestedTool']) {
    if (rule[key] !== undefined && typeof rule[key] !== 'string')
      return `\`${key}\` must be a text.`
  }
  if (raw !== undefined && typeof raw !== 'boolean') return '`raw` must be true or false.'
  if (decision === 'redirect' && suggestedTool === undefined) {
    return '`decision` redirect needs `suggestedTool`.'
  }
  for (const pattern of [match, notMatch].flat()) {
    if (typeof pattern !== 'string' || pattern.trim() === '') {
      return '`notMatch` must be a pattern or a list of patterns.'
    }
    const fault = patternFault(pattern)
    if (fault !== null) return fault
    if (raw === true && !regexOf(pattern)) {
      return `\`raw\` needs a /regular expression/, and \`${pattern}\` is none.`
    }
  }
  return liftsFault(lifts, decision) ?? examplesFault(rule['examples'])
}

function liftsFault(lifts: unknown, decision: unknown): string | null {
  if (lifts === undefined) return null
  if (decision !== 'allow') return '`lifts` is for rules whose decision is allow.'
  const wrong = [lifts].flat().find((name) => !ruleNames.includes(name as string))
  if (wrong === undefined) return null
  return `\`lifts\` names ${JSON.stringify(wrong)}; the built-in rules are ${ruleNames.join(', ')}.`
}

function examplesFault(examples: unknown): string | null {
  if (examples === undefined) return null
  const fault = `\`examples\` must be lists of commands under ${exampleKinds.join(', ')}.`
  if (typeof examples !== 'object' || examples === null || Array.isArray(examples)) return fault
  for (const [kind, list] of Object.entries(examples)) {
    if (!exampleKinds.includes(kind) || !Array.isArray(list)) return fault
    if (list.some((command) => typeof command !== 'string')) return fault
  }
  return null
}

function regexOf(pattern: string): [source: string, flags: string] | null {
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(pattern) ?? []
  return source === undefined || flags === undefined ? null : [source, flags]
}

function patternFault(pattern: string): string | null {
  const regex = regexOf(pattern)
  if (!regex) {
    if (!looksLikeRegex.test(pattern)) return null
    return `\`${pattern}\` looks like a regular expression, and would be compared as words; write it as \`/${pattern.replace(/^\//, '')}/\`.`
  }
  if (/[^ismu]/.test(regex[1])) return `\`${pattern}\`: the flags may be i, s, m and u.`
  try {
    // eslint-disable-next-line no-new -- only whether it can be made
    void new RegExp(...regex)
    return null
  } catch (error) {
    return `\`${pattern}\` is no valid regular expression (${(error as Error).message}).`
  }
}

type Pattern = (text: string, budget: PatternBudget) => boolean

function compile(rule: UserRule, index: number, tester: PatternTester): CompiledUserRule {
  const { match: pattern, notMatch = [], raw = false, lifts = [], examples = {} } = rule
  const match = compilePattern(pattern, tester)
  const exceptions = [notMatch].flat().map((other) => compilePattern(other, tester))
  const holds: Pattern = (text, budget) =>
    match(text, budget) && !exceptions.some((exempt) => exempt(text, budget))
  // An allowed prefix says nothing of the files that the command is made to write.
  const sparesWrites = rule.decision === 'allow' && !regexOf(pattern)
  return {
    name: rule.name || `user-rule-${index + 1}`,
    rule,
    lifts: [lifts].flat(),
    matchesText: (text, budget) => raw && holds(text, budget),
    matches: (command, budget) =>
      !raw &&
      !(
        sparesWrites && command.writes.some((path) => !path.test(/^\/dev\/(?:null|std\w+|tty)$/))
      ) &&
      spellings(command).some((text) => holds(text, budget)),
    examples: Object.entries(examples).flatMap(([kind, commands]) =>
      commands.map((command) => ({
        command,
        matches: kind === 'match' || kind === rule.decision,
      })),
    ),
  }
}

function compilePattern(pattern: string, tester: PatternTester): Pattern {
  const regex = regexOf(pattern)
  if (regex) {
    const compiled = new RegExp(...regex)
    return (text, budget) => tester.test(compiled, text, budget)
  }
  const prefix = pattern.trim().split(/\s+/).join(' ')
  return (text) => text === prefix || text.startsWith(`${prefix} `)
}

/** The command as written, and with the bare name of its program. */
function spellings({ name, words, writes }: SeenCommand): string[] {
  const redirections = writes.map((path) => ` > ${path.chars}`).join('')
  const written = Text.join(words, ' ').chars + redirections
  const typed = words[0]?.chars ?? ''
  return typed === name ? [written] : [written, name + written.slice(typed.length)]
}
