import { MisuseError } from '../../protocol/errors.ts'
import { check } from '../../protocol/shape/check.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { type UserRule, userRuleShape } from '../../protocol/rules.ts'
import { Text } from '../shell/text.ts'
import { PatternBudget, PatternTester, SlowPatternError } from '../../system/pattern.ts'
import { ruleNames } from './built-in.ts'
import type { SeenCommand } from './rule.ts'

/** A rule of the user that is right. */
export interface CompiledUserRule {
  /** As messages and verdicts name it: `user-rule-1` where it has no name of its own. */
  readonly name: string
  readonly rule: UserRule
  /** Built-in rules whose denial it lifts. */
  readonly lifts: readonly string[]
  /** Whether it holds for the text as it was given. */
  matchesText(text: string, budget: RuleBudget): boolean
  /** Whether it holds for one command in it. */
  matches(command: SeenCommand, budget: RuleBudget): boolean
  /** Whether it may stop a command in a text that cannot be parsed. */
  mayMatch(text: string): boolean
  /** Commands that it must match, and that it must not. */
  readonly examples: readonly { readonly command: string; readonly matches: boolean }[]
}

/** How long the patterns of all rules may take for one command. */
export class RuleBudget extends PatternBudget {
  /** The names of the rules whose pattern found no end. */
  readonly slowRules = new Set<string>()
}

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
  const given = isObject(entry) ? entry['name'] : null
  return typeof given === 'string' && given !== '' ? `"${given}"` : `${index + 1}`
}

/**
 * What is wrong with a rule, a sentence; null: nothing. What the shape does not say is named as it
 * stands in a configuration, which is where nearly all rules come from.
 */
function faultOf(entry: unknown): string | null {
  if (!isObject(entry)) return 'it must be an object with `match` and `decision`.'
  const { untrusted: _, ...given } = entry
  let rule: UserRule
  try {
    rule = check(userRuleShape, given, '', { names: 'code', called: 'key' })
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    return `${error.message}.`
  }
  const { match, decision, raw, notMatch = [], suggestedTool, lifts = [] } = rule
  if (decision === 'redirect' && suggestedTool === undefined) {
    return '`decision` redirect needs `suggested_tool`.'
  }
  for (const [key, patterns] of Object.entries({ match, not_match: notMatch })) {
    for (const pattern of [patterns].flat()) {
      const fault = patternFault(key, pattern)
      if (fault !== null) return fault
      if (raw === true && !regexOf(pattern)) {
        return `\`raw\` needs a /regular expression/, and \`${pattern}\` is none.`
      }
    }
  }
  const lifted = [lifts].flat()
  if (lifted.length > 0 && decision !== 'allow') {
    return '`lifts` is for rules whose decision is allow.'
  }
  if (decision === 'allow' && ruleNames.includes(match)) {
    return `\`${match}\` is the name of a built-in rule, where the beginning of a command or a /regular expression/ is wanted; what lifts its denials is a rule under \`guard.rules\` of the configuration: {"match": "…", "decision": "allow", "lifts": "${match}"}.`
  }
  const wrong = lifted.find((name) => !ruleNames.includes(name))
  return wrong === undefined
    ? null
    : `\`lifts\` names "${wrong}"; the built-in rules are ${ruleNames.join(', ')}.`
}

function regexOf(pattern: string): [source: string, flags: string] | null {
  const [, source, flags] = /^\/(.+)\/([a-z]*)$/s.exec(pattern) ?? []
  return source === undefined || flags === undefined ? null : [source, flags]
}

function patternFault(key: string, pattern: string): string | null {
  if (pattern.trim() === '') return `\`${key}\` must not be blank.`
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

type Pattern = (text: string, budget: RuleBudget) => boolean

function compile(rule: UserRule, index: number, tester: PatternTester): CompiledUserRule {
  const { match: pattern, notMatch = [], raw = false, lifts = [], examples = {} } = rule
  const name = rule.name || `user-rule-${index + 1}`
  const match = compilePattern(pattern, tester)
  const exceptions = [notMatch].flat().map((other) => compilePattern(other, tester))
  const holds: Pattern = (text, budget) => {
    try {
      return match(text, budget) && !exceptions.some((exempt) => exempt(text, budget))
    } catch (error) {
      if (!(error instanceof SlowPatternError)) throw error
      budget.slowRules.add(name)
      return false
    }
  }
  return {
    name,
    rule,
    lifts: [lifts].flat(),
    matchesText: (text, budget) => raw && holds(text, budget),
    matches: (command, budget) =>
      !raw &&
      (rule.decision === 'allow' ? partsOf(command) : [command]).every((part) =>
        spellings(part).some((text) => holds(text, budget)),
      ),
    mayMatch: (text) =>
      rule.decision !== 'allow' &&
      (regexOf(pattern) !== null || text.includes(pattern.trim().split(/\s/, 1)[0] ?? '')),
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
    return (text, budget) => tester.test(compiled, [text], budget)
  }
  const prefix = pattern.trim().split(/\s+/).join(' ')
  return (text) => text === prefix || text.startsWith(`${prefix} `)
}

/**
 * A command and each file that its redirections write, spelled `> file`: a rule that allows the one says nothing
 * about the other.
 */
export function partsOf(command: SeenCommand): SeenCommand[] {
  const files = command.writes.filter((path) => !path.test(/^\/dev\/(?:null|std\w+|tty|fd\/\d+)$/))
  const writing = files.map((path) => ({
    ...command,
    name: '',
    words: [],
    args: [],
    writes: [path],
  }))
  if (files.length === 0) return [command]
  return command.words.length === 0 ? writing : [{ ...command, writes: [] }, ...writing]
}

/** Programs of many commands, which their next words name. */
const ofCommands =
  /^(?:git|gh|glab|npm|pnpm|yarn|bun|deno|cargo|go|rustup|docker|podman|kubectl|helm|pip3?|uv|poetry|make|just|task|terraform|tofu|aws|gcloud|az|systemctl|brew|apt|apt-get|dnf|gem|bundle|mvn|gradle|dotnet|nix|nacre)$/

/** A file system's root, a home or a disk: nobody allows for good what takes one of these along. */
const tooMuch =
  /^(?:\/+\*?|~\w*\/?\*?|(?:of=)?\/dev\/.+|\/(?:home|Users|root)(?:\/[^/]*)?\/?\*?|--no-preserve-root)$/

/**
 * What a rule that allows such a command for good begins with: all its words, or the program and its commands
 * (`npm run build`). Null: it is not known before the run, and could be anything, or it takes too much along.
 */
export function prefixOf(part: SeenCommand): string | null {
  const { name, words, writes, places } = part
  const [spelled = ''] = spellings(part)
  if (regexOf(spelled) || patternFault('match', spelled) !== null) return null
  const isOpen = (word: Text): boolean =>
    !word.isKnown || word.test(tooMuch) || word.chars.replace(/\/\*?$/, '') === places.home
  if ([...words, ...writes].some(isOpen)) return null
  const at = words.findIndex((word, index) => index > 0 && !word.test(/^[a-z][\w:-]*$/i))
  if (!ofCommands.test(name) || at === 1) return spelled
  return Text.join(words.slice(0, Math.min(at < 0 ? 3 : at, 3)), ' ').chars
}

/** The command as written, and with the bare name of its program. */
function spellings({ name, words, writes }: SeenCommand): string[] {
  const redirections = writes.map((path) => ` > ${path.chars}`).join('')
  const written = (Text.join(words, ' ').chars + redirections).trimStart()
  const typed = words[0]?.chars ?? ''
  return typed === name ? [written] : [written, name + written.slice(typed.length)]
}
