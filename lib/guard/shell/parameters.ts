import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash'
import type { Scope } from './scope.ts'
import { empty, given, obscured, Text, unknown } from './text.ts'

/** What a `$…` stands for: possible texts, or a list that stays a list inside quotes. */
export interface Expanded {
  readonly values: readonly Text[]
  readonly list?: readonly Text[]
}

/** Reads a word as quoted text: every text that it may be. */
export type ReadText = (word: Word) => readonly Text[]

/** The value of `$name`; null: nobody assigned it in the command. */
function lookUp(name: string, scope: Scope): Expanded | null {
  if (name === '@' || name === '*') return asList(scope.parameters ?? [unknown])
  if (name === '#') return { values: [given] }
  if (/^[1-9]\d*$/.test(name)) {
    if (!scope.parameters) return null
    return { values: [scope.parameters[Number(name) - 1] ?? empty] }
  }
  const assigned = scope.variables.get(name)
  if (assigned) return { values: assigned.values }
  return name === 'PWD' ? { values: scope.directories } : null
}

const asList = (list: readonly Text[]): Expanded => ({ values: [Text.join(list, ' ')], list })

/** What `$name` may be. */
export function expandSimple(name: string, scope: Scope): Expanded {
  return lookUp(name, scope) ?? { values: [unknown] }
}

/** What `${…}` may be. Defaults and arrays are followed; what any other operation makes of a constant is not. */
export function expandParameter(
  part: ParameterExpansionPart,
  scope: Scope,
  readText: ReadText,
): Expanded {
  const { operation, index, prefix, parameter } = part
  const base = index ? element(parameter, readText(index), scope) : lookUp(parameter, scope)
  if (prefix === '#') return { values: [given] }
  if (prefix !== '!' && !operation) return base ?? { values: [unknown] }
  if (prefix !== '!' && operation?.type === 'Default') {
    return withDefault(parameter, base, operation, scope, readText)
  }
  // Their values are not followed, but the scripts in the operands are read.
  for (const operand of Object.values(operation ?? {})) {
    if (typeof operand === 'object' && operand.type === 'Word') readText(operand)
  }
  const isConstant = base?.values.some((value) => value.isKnown || value.has('o'))
  return { values: [isConstant ? obscured : unknown] }
}

/** The elements of an array: all of them as a list, else whichever a subscript means. */
function element(name: string, subscript: readonly Text[], scope: Scope): Expanded | null {
  const variable = scope.variables.get(name)
  if (!variable) return null
  const list = variable.elements ?? variable.values
  return subscript[0]?.test(/^[@*]$/) ? asList(list) : { values: list }
}

function withDefault(
  name: string,
  base: Expanded | null,
  operation: Extract<ParameterOperation, { type: 'Default' }>,
  scope: Scope,
  readText: ReadText,
): Expanded {
  const { operator } = operation
  const operand = readText(operation.operand)
  const own = base?.values ?? []
  const set = operator.startsWith(':') ? own.filter((value) => value.length > 0) : own
  const isUnknown = (value: Text): boolean => value.equals(unknown)
  if (operator.endsWith('+')) {
    return { values: base ? (set.length > 0 ? operand : [empty]) : [empty, ...operand] }
  }
  if (operator.endsWith('?')) {
    return { values: set.length > 0 ? set.map((v) => (isUnknown(v) ? given : v)) : [given] }
  }
  const mayBeMissing = set.length < own.length || own.length === 0 || own.some(isUnknown)
  const values = mayBeMissing ? [...set, ...operand] : set
  if (operator.endsWith('=')) scope.assign(name, values)
  return !mayBeMissing && base?.list ? base : { values }
}
