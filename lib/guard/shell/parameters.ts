import type { ParameterExpansionPart, ParameterOperation, Word } from 'unbash'
import type { Scope, Variable } from './scope.ts'
import { empty, given, Text, unknown } from './text.ts'

/** What a `$…` stands for: possible texts, or a list that stays a list inside quotes. */
export interface Expanded {
  readonly values: readonly Text[]
  readonly list?: readonly Text[]
}

/** Reads a word as quoted text: every text that it may be. */
export type ReadText = (word: Word) => readonly Text[]

/** A longer value is not cut or matched: it counts as unknown. */
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
  if (name === '#' && scope.parameters) {
    return { values: [new Text(String(scope.parameters.length))] }
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

/** What `${…}` may be. */
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
  if (operation.type === 'Default') {
    return withDefault(part.parameter, base, operation, scope, readText)
  }
  const operand = (word: Word): Text => readText(word)[0] ?? unknown
  if (operation.type === 'Slice' && base?.list) {
    return sliceList(base.list, part.index === undefined, operation, operand)
  }
  const apply = (value: Text): Text => applyOperation(value, operation, operand)
  if (base?.list) {
    const list = base.list.map(apply)
    return { values: [Text.join(list, ' ')], list }
  }
  return { values: (base?.values ?? [unknown]).map(apply) }
}

function indirect(base: Expanded, scope: Scope): Expanded {
  return {
    values: base.values.flatMap((name) =>
      name.isKnown ? expandSimple(name.chars, scope).values : [unknown],
    ),
  }
}

function element(
  variable: Variable | undefined,
  spelling: string,
  index: readonly Text[],
): Expanded | null {
  if (!variable) return null
  const elements = variable.elements ?? variable.values
  if (spelling === '@' || spelling === '*') {
    return { values: [Text.join(elements, ' ')], list: elements }
  }
  const position = index[0] === undefined ? Number.NaN : numberIn(index[0])
  if (variable.elements && Number.isInteger(position)) {
    return { values: [elements.at(position) ?? empty] }
  }
  return { values: elements }
}

const numberIn = (text: Text): number => (text.isKnown ? Number(text.chars) : Number.NaN)

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

function sliceList(
  list: readonly Text[],
  positional: boolean,
  operation: Extract<ParameterOperation, { type: 'Slice' }>,
  operand: (word: Word) => Text,
): Expanded {
  const offset = numberIn(operand(operation.offset))
  const length = operation.length ? numberIn(operand(operation.length)) : list.length
  if (!Number.isInteger(offset) || !Number.isInteger(length)) return { values: [unknown], list }
  const start = positional && offset > 0 ? offset - 1 : offset
  const cut = list.slice(start, start < 0 ? undefined : start + length)
  return { values: [Text.join(cut, ' ')], list: cut }
}

/** What `${name<operation>}` makes of one value. `operand` reads a word as quoted text. */
function applyOperation(
  value: Text,
  operation: ParameterOperation,
  operand: (word: Word) => Text,
): Text {
  switch (operation.type) {
    case 'Default':
    case 'Transform':
      return value
    case 'CaseModification':
      return changeCase(value, operation.operator)
    case 'Slice':
      return slice(value, operand(operation.offset), operation.length && operand(operation.length))
    case 'Remove':
      return remove(value, operation.operator, operand(operation.operand).activated())
    case 'Replace':
      return replace(
        value,
        operation.operator,
        operand(operation.pattern),
        operand(operation.replacement),
      )
    default:
      return unknown
  }
}

function changeCase(value: Text, operator: '^' | '^^' | ',' | ',,'): Text {
  const change = ({ 0: text }: RegExpExecArray): string =>
    operator.startsWith('^') ? text.toUpperCase() : text.toLowerCase()
  return value.replace(operator.length === 2 ? /\p{L}+/gu : /^\p{L}/gu, change)
}

function slice(value: Text, offsetText: Text, lengthText: Text | undefined): Text {
  const offset = numberIn(offsetText)
  const length = lengthText === undefined ? null : numberIn(lengthText)
  if (!value.isKnown || !Number.isInteger(offset)) return unknown
  if (length !== null && !Number.isInteger(length)) return unknown
  const start = offset < 0 ? Math.max(0, value.length + offset) : offset
  if (length === null) return value.slice(start)
  return value.slice(start, length < 0 ? value.length + length : start + length)
}

function remove(value: Text, operator: '#' | '##' | '%' | '%%', pattern: Text): Text {
  if (!value.isKnown || value.length > maxLength || pattern.length > maxLength) return unknown
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

function replace(
  value: Text,
  operator: '/' | '//' | '/#' | '/%',
  pattern: Text,
  replacement: Text,
): Text {
  if (!value.isKnown || !pattern.isKnown || value.length > maxLength) return unknown
  if (pattern.activated().isGlob) return unknown
  const { chars: part, length } = pattern
  if (part === '') return value
  if (operator === '//') return value.replaceAll(part, replacement)
  if (operator === '/#') {
    return value.startsWith(part) ? Text.join([replacement, value.slice(length)]) : value
  }
  if (operator === '/%') {
    return value.endsWith(part) ? Text.join([value.slice(0, -length), replacement]) : value
  }
  const at = value.chars.indexOf(part)
  if (at < 0) return value
  return Text.join([value.slice(0, at), replacement, value.slice(at + length)])
}
