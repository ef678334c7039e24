import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash'
import { given, isKnown, unknown } from './marked-text.ts'
import { applyOperation } from './parameter.ts'
import type { Scope, Variable } from './scope.ts'

/** What a `$…` stands for: possible texts, or a list that stays a list inside quotes. */
export interface Expanded {
  readonly values: readonly string[]
  readonly list?: readonly string[]
}

/** Reads a word as quoted text: every text that it may be. */
export type ReadText = (word: Word) => readonly string[]

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
    return { values: [list.join(' ')], list }
  }
  if (name === '#' && scope.parameters) return { values: [String(scope.parameters.length)] }
  if (name === '#' || numbers.has(name)) return { values: [given] }
  if (/^[1-9]\d*$/.test(name)) {
    if (!scope.parameters) return null
    return { values: [scope.parameters[Number(name) - 1] ?? ''] }
  }
  const assigned = scope.variables.get(name)
  if (assigned) return { values: assigned.values }
  if (name === 'PWD') return { values: scope.directories }
  const constant = wellKnown[name]
  return constant === undefined ? null : { values: [constant] }
}

export function expandSimple(name: string, scope: Scope): Expanded {
  return lookUp(name, scope) ?? { values: [unknown] }
}

export function expandParameter(
  part: ParameterExpansionPart,
  scope: Scope,
  readText: ReadText,
): Expanded {
  const { operation } = part
  const index = part.index && readText(part.index)
  let base = index
    ? element(scope.variables.get(part.parameter), part.index?.text ?? '', index)
    : lookUp(part.parameter, scope)
  if (part.prefix === '#') return { values: [given] }
  if (part.prefix === '!') {
    if (index) return { values: [unknown] }
    base = base && indirect(base, scope)
  }
  if (!operation) return base ?? { values: [unknown] }
  if (operation.type === 'Default')
    return withDefault(part.parameter, base, operation, scope, readText)
  const operand = (word: Word): string => readText(word)[0] ?? unknown
  if (operation.type === 'Slice' && base?.list) {
    return sliceList(base.list, part.index === undefined, operation, operand)
  }
  const apply = (value: string): string => applyOperation(value, operation, operand)
  if (base?.list) {
    const list = base.list.map(apply)
    return { values: [list.join(' ')], list }
  }
  return { values: (base?.values ?? [unknown]).map(apply) }
}

function indirect(base: Expanded, scope: Scope): Expanded {
  return {
    values: base.values.flatMap((name) =>
      isKnown(name) ? expandSimple(name, scope).values : [unknown],
    ),
  }
}

function element(
  variable: Variable | undefined,
  spelling: string,
  index: readonly string[],
): Expanded | null {
  if (!variable) return null
  const elements = variable.elements ?? variable.values
  if (spelling === '@') return { values: [elements.join(' ')], list: elements }
  if (spelling === '*') return { values: [elements.join(' ')], list: elements }
  const position = Number(index[0])
  if (variable.elements && Number.isInteger(position)) {
    return { values: [elements.at(position) ?? ''] }
  }
  return { values: elements }
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
  const set = whenEmpty ? own.filter((value) => value !== '') : own
  const mayBeMissing = set.length < own.length || own.length === 0 || own.includes(unknown)
  switch (operation.operator) {
    case '+':
    case ':+':
      return { values: base ? (set.length > 0 ? operand : ['']) : ['', ...operand] }
    case '?':
    case ':?':
      return { values: set.length > 0 ? set.map((v) => (v === unknown ? given : v)) : [given] }
    default: {
      const values = mayBeMissing ? [...set, ...operand] : set
      if (operation.operator.endsWith('=')) scope.assign(name, values)
      return !mayBeMissing && base?.list ? base : { values }
    }
  }
}

function sliceList(
  list: readonly string[],
  positional: boolean,
  operation: Extract<ParameterOperation, { type: 'Slice' }>,
  operand: (word: Word) => string,
): Expanded {
  const offset = Number(operand(operation.offset))
  const length = operation.length ? Number(operand(operation.length)) : list.length
  if (!Number.isInteger(offset) || !Number.isInteger(length)) return { values: [unknown], list }
  const start = positional && offset > 0 ? offset - 1 : offset
  const cut = list.slice(start, start < 0 ? undefined : start + length)
  return { values: [cut.join(' ')], list: cut }
}
