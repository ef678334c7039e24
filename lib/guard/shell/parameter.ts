import type { ParameterOperation, Word } from 'unbash'
import { activateGlobs, isKnown, matchesGlob, unknown } from './marked-text.ts'

/** A longer value is not cut or matched: it counts as unknown. */
const maxLength = 200

/** What `${name<operation>}` makes of one value. `operand` reads a word as quoted text. */
export function applyOperation(
  value: string,
  operation: ParameterOperation,
  operand: (word: Word) => string,
): string {
  switch (operation.type) {
    case 'Default':
      return value
    case 'Transform':
      return value
    case 'CaseModification':
      return changeCase(value, operation.operator)
    case 'Slice':
      return slice(value, operand(operation.offset), operation.length && operand(operation.length))
    case 'Remove':
      return remove(value, operation.operator, activateGlobs(operand(operation.operand)))
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

function changeCase(value: string, operator: '^' | '^^' | ',' | ',,'): string {
  const upper = operator.startsWith('^')
  const change = (text: string): string => (upper ? text.toUpperCase() : text.toLowerCase())
  return operator.length === 2 ? change(value) : change(value.slice(0, 1)) + value.slice(1)
}

function slice(value: string, offsetText: string, lengthText: string | undefined): string {
  const offset = Number(offsetText)
  const length = lengthText === undefined ? null : Number(lengthText)
  if (!isKnown(value) || !Number.isInteger(offset)) return unknown
  if (length !== null && !Number.isInteger(length)) return unknown
  const start = offset < 0 ? Math.max(0, value.length + offset) : offset
  if (length === null) return value.slice(start)
  return value.slice(start, length < 0 ? value.length + length : start + length)
}

function remove(value: string, operator: '#' | '##' | '%' | '%%', pattern: string): string {
  if (!isKnown(value) || value.length > maxLength || pattern.length > maxLength) return unknown
  const cuts = Array.from({ length: value.length + 1 }, (_, index) => index)
  const fromStart = operator.startsWith('#')
  const longest = operator.length === 2
  if (fromStart === longest) cuts.reverse()
  for (const cut of cuts) {
    const taken = fromStart ? value.slice(0, cut) : value.slice(cut)
    if (matchesGlob(pattern, taken)) return fromStart ? value.slice(cut) : value.slice(0, cut)
  }
  return value
}

function replace(
  value: string,
  operator: '/' | '//' | '/#' | '/%',
  pattern: string,
  replacement: string,
): string {
  if (!isKnown(value) || !isKnown(pattern) || value.length > maxLength) return unknown
  if (activateGlobs(pattern) !== pattern) return unknown
  if (pattern === '') return value
  if (operator === '//') return value.split(pattern).join(replacement)
  if (operator === '/#') {
    return value.startsWith(pattern) ? replacement + value.slice(pattern.length) : value
  }
  if (operator === '/%') {
    return value.endsWith(pattern) ? value.slice(0, -pattern.length) + replacement : value
  }
  const at = value.indexOf(pattern)
  return at < 0 ? value : value.slice(0, at) + replacement + value.slice(at + pattern.length)
}
