import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash'
import type { Scope } from './scope.ts'
import { empty, given, obscured, Text, unknown } from './text.ts'

/** Ends a field within the text of a word. No word of a shell holds this character. */
export const fieldEnd = '\0'

/** Reads a word as quoted text: every text that it may be. */
export type ReadText = (word: Word) => readonly Text[]

/** The value of `$name`; null: nobody assigned it in the command. */
function lookUp(name: string, scope: Scope): readonly Text[] | null {
  if (name === '@' || name === '*') return asList(scope.parameters ?? [unknown])
  if (name === '#') return [given]
  if (/^[1-9]\d*$/.test(name)) {
    return scope.parameters && [scope.parameters[Number(name) - 1] ?? empty]
  }
  const assigned = scope.variables.get(name)
  if (assigned) return assigned.length > 0 ? assigned : [empty]
  return name === 'PWD' ? scope.directories : null
}

/** One text of many fields. */
const asList = (list: readonly Text[]): readonly Text[] => [Text.join(list, fieldEnd)]

/** What `$name` may be. */
export function expandSimple(name: string, scope: Scope): readonly Text[] {
  return lookUp(name, scope) ?? [unknown]
}

/** What `${…}` may be. Defaults and arrays are followed; what any other operation makes of a constant is not. */
export function expandParameter(
  part: ParameterExpansionPart,
  scope: Scope,
  readText: ReadText,
): readonly Text[] {
  const { operation, index, prefix, parameter } = part
  // Which element another subscript means is not followed.
  const isWhole = index && readText(index)[0]?.test(/^[@*]$/)
  const elements = isWhole ? scope.variables.get(parameter) : undefined
  const base = elements ? asList(elements) : lookUp(parameter, scope)
  if (prefix === '#') return [given]
  if (prefix !== '!' && !operation) return base ?? [unknown]
  if (prefix !== '!' && operation?.type === 'Default') {
    return withDefault(parameter, base, operation, scope, readText)
  }
  // Their values are not followed, but the scripts in the operands are read.
  for (const operand of Object.values(operation ?? {})) {
    if (typeof operand === 'object' && operand.type === 'Word') readText(operand)
  }
  const isConstant = base?.some((value) => value.isKnown || value.has('o'))
  return [isConstant ? obscured : unknown]
}

function withDefault(
  name: string,
  base: readonly Text[] | null,
  operation: Extract<ParameterOperation, { type: 'Default' }>,
  scope: Scope,
  readText: ReadText,
): readonly Text[] {
  const { operator } = operation
  const operand = readText(operation.operand)
  const own = base ?? []
  const set = operator.startsWith(':') ? own.filter((value) => value.length > 0) : own
  const isUnknown = (value: Text): boolean => value.equals(unknown)
  if (operator.endsWith('+')) {
    return base ? (set.length > 0 ? operand : [empty]) : [empty, ...operand]
  }
  if (operator.endsWith('?')) {
    return set.length > 0 ? set.map((value) => (isUnknown(value) ? given : value)) : [given]
  }
  const mayBeMissing = set.length < own.length || own.length === 0 || own.some(isUnknown)
  const values = mayBeMissing ? [...set, ...operand] : set
  if (operator.endsWith('=')) scope.assign(name, values)
  return values
}
