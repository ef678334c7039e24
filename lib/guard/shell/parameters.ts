import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash'
import type { Scope, Variable } from './scope.ts'
import { empty, given, obscured, Text, unknown } from './text.ts'

/** What a `$…` stands for: possible texts, or a list that stays a list inside quotes. */
export interface Expanded {
  readonly values: readonly Text[]
  readonly list?: readonly Text[]
}

/** Reads a word as quoted text: every text that it may be. */
export type ReadText = (word: Word) => readonly Text[]

/** A longer value is not cut: it counts as unknown. */
const maxLength = 200

const numbers = new Set(
  '? $ ! RANDOM SRANDOM SECONDS LINENO UID EUID PPID BASHPID EPOCHSECONDS SHLVL'.split(' '),
)
const wellKnown: Readonly<Record<string, string>> = {
  '-': 'hB',
  '0': 'bash',
  SHELL: '/bin/sh',
  BASH: '/bin/bash',
  IFS: ' \t\n',
}

/** The value of `$name`; null: nobody assigned it in the command. */
function lookUp(name: string, scope: Scope): Expanded | null {
  if (name === '@' || name === '*') {
    const list = scope.parameters ?? [unknown]
    return { values: [Text.join(list, ' ')], list }
  }
  if (name === '#' || numbers.has(name)) return { values: [given] }
  if (/^[1-9]\d*$/.test(name)) {
    if (!scope.parameters) return null
    return { values: [scope.parameters[Number(name) - 1] ?? empty] }
  }
  const assigned = scope.variables.get(name)
  if (assigned) return { values: assigned.values }
  if (name === 'PWD') return { values: scope.directories }
  const constant = wellKnown[name]
  return constant === undefined ? null : { values: [new Text(constant)] }
}

/** What `$name` may be. */
export function expandSimple(name: string, scope: Scope): Expanded {
  return lookUp(name, scope) ?? { values: [unknown] }
}

/**
 * What `${…}` may be. Defaults, the elements of an array and the removal of a constant are followed;
 * what any other operation makes of a constant is not.
 */
export function expandParameter(
  part: ParameterExpansionPart,
  scope: Scope,
  readText: ReadText,
): Expanded {
  const { operation, index } = part
  // Also where their values are not followed, the scripts in the operands are read.
  const base = index
    ? element(scope.variables.get(part.parameter), readText(index))
    : lookUp(part.parameter, scope)
  if (part.prefix === '#') return { values: [given] }
  if (part.prefix === '!') return { values: [base ? obscured : unknown] }
  if (!operation) return base ?? { values: [unknown] }
  if (operation.type === 'Default') {
    return withDefault(part.parameter, base, operation, scope, readText)
  }
  for (const word of wordsOf(operation)) readText(word)
  const change = (value: Text): Text => {
    if (!value.isKnown) return value.has('o') ? obscured : unknown
    return operation.type === 'Remove'
      ? remove(value, operation.operator, readText(operation.operand)[0] ?? unknown)
      : obscured
  }
  const offset = operation.type === 'Slice' && !operation.length ? operation.offset.text.trim() : ''
  const list = /^\d+$/.test(offset)
    ? base?.list?.slice(Math.max(0, Number(offset) - (index ? 0 : 1)))
    : base?.list?.map(change)
  const values = base ? base.values.map(change) : [unknown]
  return list ? { values, list } : { values }
}

function wordsOf(operation: ParameterOperation): readonly Word[] {
  return Object.values(operation).filter(
    (value): value is Word => typeof value === 'object' && value.type === 'Word',
  )
}

/** The elements of an array; which of them a subscript means is followed where it is a number. */
function element(variable: Variable | undefined, [index]: readonly Text[]): Expanded | null {
  if (!variable) return null
  const { values, elements: list = values } = variable
  if (index?.test(/^[@*]$/)) return { values: [Text.join(list, ' ')], list }
  const position = index?.test(/^-?\d+$/) && variable.elements ? Number(index.chars) : null
  return { values: position === null ? list : [list.at(position) ?? empty] }
}

function withDefault(
  name: string,
  base: Expanded | null,
  operation: Extract<ParameterOperation, { type: 'Default' }>,
  scope: Scope,
  readText: ReadText,
): Expanded {
  const operand = readText(operation.operand)
  const whenEmpty = operation.operator.startsWith(':')
  const own = base?.values ?? []
  const set = whenEmpty ? own.filter((value) => value.length > 0) : own
  const isUnknown = (value: Text): boolean => value.equals(unknown)
  const mayBeMissing = set.length < own.length || own.length === 0 || own.some(isUnknown)
  switch (operation.operator) {
    case '+':
    case ':+':
      return { values: base ? (set.length > 0 ? operand : [empty]) : [empty, ...operand] }
    case '?':
    case ':?':
      return { values: set.length > 0 ? set.map((v) => (isUnknown(v) ? given : v)) : [given] }
    default: {
      const values = mayBeMissing ? [...set, ...operand] : set
      if (operation.operator.endsWith('=')) scope.assign(name, values)
      return !mayBeMissing && base?.list ? base : { values }
    }
  }
}

/** `${name%pattern}` of a constant. */
function remove(value: Text, operator: '#' | '##' | '%' | '%%', operand: Text): Text {
  const pattern = operand.activated()
  if (value.length > maxLength || pattern.length > maxLength) return obscured
  const cuts = Array.from({ length: value.length + 1 }, (_, index) => index)
  const fromStart = operator.startsWith('#')
  const longest = operator.length === 2
  if (fromStart === longest) cuts.reverse()
  for (const cut of cuts) {
    const taken = fromStart ? value.slice(0, cut) : value.slice(cut)
    if (pattern.matches(taken.chars)) return fromStart ? value.slice(cut) : value.slice(0, cut)
  }
  return value
}
