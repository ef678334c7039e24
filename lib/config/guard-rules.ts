import { checkValue, invalid, isObject, type ValueType } from '../protocol/check-value.ts'
import { checkChoice, unknownKey } from './known.ts'

const text = { kind: 'string', hint: 'text' } as const

/** The keys of a rule. */
const types: Readonly<Record<string, ValueType>> = {
  name: text,
  match: text,
  not_match: text,
  decision: { kind: 'choice', values: ['allow', 'ask', 'redirect', 'deny'] },
  reason: text,
  suggested_tool: text,
  raw: { kind: 'boolean' },
  examples: { kind: 'object' },
}

/** Throws `MisuseError` where the value is not a list of rules; `path` is where it stands. */
export function checkRules(path: string, value: unknown): void {
  if (!Array.isArray(value)) throw invalid(path, 'a list of rules', value)
  for (const [index, rule] of value.entries()) checkRule(`${path}[${index}]`, rule)
}

function checkRule(path: string, rule: unknown): void {
  if (!isObject(rule)) throw invalid(path, 'an object with `match` and `decision`', rule)
  for (const [key, value] of Object.entries(rule)) {
    const type = types[key]
    if (type === undefined) throw unknownKey(`${path}.${key}`, key, Object.keys(types))
    if (type.kind === 'choice') checkChoice(`${path}.${key}`, value, type.values)
    else if (key === 'not_match' && Array.isArray(value)) {
      checkValue(`${path}.${key}`, value, { kind: 'names' })
    } else checkValue(`${path}.${key}`, value, type)
  }
  for (const key of ['match', 'decision']) {
    if (rule[key] === undefined) throw invalid(path, `a rule with \`${key}\``, rule)
  }
}
