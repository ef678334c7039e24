import { MisuseError } from './errors.ts'
import type { FieldType } from './fields.ts'

/** What a value from outside may be: the types of a request's fields, and those of messages. */
export type ValueType =
  | FieldType
  /** Any text, also an empty one. */
  | { kind: 'text' }
  | { kind: 'object' }
  /** A list of texts. */
  | { kind: 'names' }
  /** A number above one bound and not over the other. */
  | { kind: 'within'; above: number; max: number }
  /** What names a message: a text, a number or null. */
  | { kind: 'id' }

/** Throws `MisuseError`, which says what `name` must be and what it is. */
export function checkValue(name: string, value: unknown, type: ValueType): void {
  switch (type.kind) {
    case 'string':
      if (typeof value !== 'string' || value === '' || value.includes('\0')) {
        throw invalid(name, 'a text that is not empty', value)
      }
      return
    case 'text':
      if (typeof value !== 'string') throw invalid(name, 'a text', value)
      return
    case 'boolean':
      if (typeof value !== 'boolean') throw invalid(name, 'true or false', value)
      return
    case 'integer':
      if (!Number.isSafeInteger(value) || Number(value) < type.min || Number(value) > type.max) {
        const range =
          type.max === Number.MAX_SAFE_INTEGER ? `from ${type.min}` : `${type.min} to ${type.max}`
        throw invalid(name, `a whole number, ${range}`, value)
      }
      return
    case 'number':
      if (!isFinite(value) || value <= type.above) {
        throw invalid(name, `a number above ${type.above}`, value)
      }
      return
    case 'atLeast':
      if (!isFinite(value) || value < type.min) {
        throw invalid(name, `a number, ${type.min} or more`, value)
      }
      return
    case 'choice':
      if (typeof value !== 'string' || !type.values.includes(value)) {
        throw invalid(name, `one of ${type.values.join(', ')}`, value)
      }
      return
    case 'strings':
      if (!isObject(value)) throw invalid(name, 'an object of texts', value)
      return
    case 'object':
      if (!isObject(value)) throw invalid(name, 'an object', value)
      return
    case 'within':
      if (!isFinite(value) || value <= type.above || value > type.max) {
        throw invalid(name, `a number above ${type.above}, at most ${type.max}`, value)
      }
      return
    case 'id':
      if (value !== null && typeof value !== 'string' && typeof value !== 'number') {
        throw invalid(name, 'a text, a number or null', value)
      }
      return
    case 'names':
      if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
        throw invalid(name, 'a list of texts', value)
      }
  }
}

/** Misuse of a field: what it must be, and what it is. */
export function invalid(name: string, wanted: string, value: unknown): MisuseError {
  const shown = JSON.stringify(value)?.slice(0, 80) ?? String(value)
  return new MisuseError('invalid_field', `\`${name}\` must be ${wanted}, not ${shown}`, name)
}

/** An object as JSON has it, not a list and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function isFinite(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
