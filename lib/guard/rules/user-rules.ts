import { MisuseError } from '../../protocol/errors.ts'
import type { UserRule } from '../../protocol/user-rule.ts'
import { Text } from '../shell/text.ts'
import type { SeenCommand } from './rule.ts'

export interface CompiledUserRule {
  readonly name: string
  readonly rule: UserRule
  matchesText(text: string): boolean
  matches(command: SeenCommand): boolean
}

const keys = new Set([
  'name',
  'match',
  'notMatch',
  'decision',
  'reason',
  'suggestedTool',
  'raw',
  'examples',
])
const decisions = ['allow', 'ask', 'redirect', 'deny']

/**
 * Reads the rules of a configuration. Every fault is a sentence that names the rule; a rule with a
 * fault is in `problems` and not in `rules`.
 */
export function compileUserRules(input: unknown): {
  rules: CompiledUserRule[]
  problems: string[]
} {
  if (!Array.isArray(input))
    return { rules: [], problems: ['guard.rules: it must be a list of rules.'] }
  const rules: CompiledUserRule[] = []
  const problems: string[] = []
  for (const [index, entry] of input.entries()) {
    const name = nameOf(entry, index)
    const fault = faultOf(entry)
    if (fault !== null) problems.push(`guard rule ${name}: ${fault}`)
    else rules.push(compile(entry as UserRule, name))
  }
  return { rules, problems }
}

/** The same; throws a `MisuseError` with all problems in place of giving them. */
export function requireUserRules(input: unknown): CompiledUserRule[] {
  const { rules, problems } = compileUserRules(input)
  if (problems.length > 0)
    throw new MisuseError('invalid_guard_rule', problems.join('\n'), 'guard.rules')
  return rules
}

function nameOf(entry: unknown, index: number): string {
  const given = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : null
  return typeof given === 'string' && given !== '' ? `"${given}"` : `${index + 1}`
}

function faultOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    return 'it must be an object with `match` and `decision`.'
  const rule: Record<string, unknown> = { ...entry }
  const unknownKey = Object.keys(rule).find((key) => !keys.has(key))
  if (unknownKey !== undefined)
    return `\`${unknownKey}\` is not a key of a rule; the keys are ${[...keys].join(', ')}.`
  if (typeof rule['match'] !== 'string' || rule['match'].trim() === '')
    return '`match` must be a command prefix or a /regular expression/.'
  if (typeof rule['decision'] !== 'string' || !decisions.includes(rule['decision'])) {
    return `\`decision\` must be one of ${decisions.join(', ')}.`
  }
  for (const key of ['name', 'reason', 'suggestedTool']) {
    if (rule[key] !== undefined && typeof rule[key] !== 'string')
      return `\`${key}\` must be a text.`
  }
  if (rule['raw'] !== undefined && typeof rule['raw'] !== 'boolean')
    return '`raw` must be true or false.'
  if (rule['decision'] === 'redirect' && rule['suggestedTool'] === undefined) {
    return '`decision` redirect needs `suggestedTool`.'
  }
  const exceptions = rule['notMatch'] ?? []
  const patterns = [rule['match'], ...(Array.isArray(exceptions) ? exceptions : [exceptions])]
  for (const pattern of patterns) {
    if (typeof pattern !== 'string' || pattern.trim() === '')
      return '`notMatch` must be a pattern or a list of patterns.'
    const fault = regexFault(pattern)
    if (fault !== null) return fault
    if (rule['raw'] === true && !regexOf(pattern))
      return `\`raw\` needs a /regular expression/, and \`${pattern}\` is none.`
  }
  return examplesFault(rule['examples'])
}

function examplesFault(examples: unknown): string | null {
  if (examples === undefined) return null
  const fault = '`examples` must be { match: […], notMatch: […] } with commands.'
  if (typeof examples !== 'object' || examples === null) return fault
  for (const [key, list] of Object.entries(examples)) {
    if (key !== 'match' && key !== 'notMatch') return fault
    if (!Array.isArray(list) || list.some((command) => typeof command !== 'string')) return fault
  }
  return null
}

const delimited = /^\/(.+)\/([a-z]*)$/s

function regexOf(pattern: string): [source: string, flags: string] | null {
  const [, source, flags] = delimited.exec(pattern) ?? []
  return source === undefined || flags === undefined ? null : [source, flags]
}

function regexFault(pattern: string): string | null {
  const regex = regexOf(pattern)
  if (!regex) return null
  if (/[^ismu]/.test(regex[1])) return `\`${pattern}\`: the flags may be i, s, m and u.`
  try {
    // eslint-disable-next-line no-new -- only whether it can be made
    void new RegExp(...regex)
    return null
  } catch (error) {
    return `\`${pattern}\` is no valid regular expression (${(error as Error).message}).`
  }
}

function compile(rule: UserRule, name: string): CompiledUserRule {
  const match = compilePattern(rule.match)
  const exceptions = [rule.notMatch ?? []].flat().map(compilePattern)
  const holds = (text: string): boolean => match(text) && !exceptions.some((exempt) => exempt(text))
  return {
    name,
    rule,
    matchesText: (text) => rule.raw === true && holds(text),
    matches: (command) => rule.raw !== true && spellings(command).some(holds),
  }
}

function compilePattern(pattern: string): (text: string) => boolean {
  const regex = regexOf(pattern)
  if (regex) {
    const compiled = new RegExp(...regex)
    return (text) => compiled.test(text)
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
