import { MisuseError } from '../errors.ts'
import { didYouMean, toCamelCase, toSnakeCase, unknownName } from '../wire.ts'
import { parseDuration } from '../words.ts'
import { isNumber, type Shape } from './shape.ts'

/** How a check reads and names what it is given. */
export interface Reading {
  /**
   * `wire`: fields come as `timeout_seconds`; `code`: as `timeoutSeconds`. Either way the answer has
   * the names of the code, and messages name a field as it came.
   */
  names: 'wire' | 'code'
  /** What a message calls the names of an object. */
  called?: 'field' | 'key'
}

/**
 * Gives a value in the names of the code. Throws `MisuseError`, which names what is wrong by its path
 * from `path` on (`rules[0].decision`), says what it must be and what it is; `field` is that path.
 */
export function check<Value>(
  shape: Shape<Value>,
  given: unknown,
  path: string,
  reading: Reading,
): Value {
  return checkValue(shape, given, path, reading) as Value
}

function checkValue(shape: Shape, given: unknown, path: string, reading: Reading): unknown {
  if (shape.anyOf) {
    const type = jsonTypeOf(given)
    const found = shape.anyOf.find((of) => of.type === type || (isNumber(of) && type === 'number'))
    if (!found) throw invalid(path, wantedOf(shape), given)
    return checkValue(found, given, path, reading)
  }
  const value = readSpelling(shape, given)
  if (!accepts(shape, value)) {
    const whole = reading.names === 'wire' ? 'params' : 'request'
    const { code, message, field } = invalid(path || whole, wantedOf(shape), given)
    const hint = shape.enum && typeof value === 'string' ? didYouMean(value, shape.enum, '"') : ''
    throw new MisuseError(code, message + hint, field)
  }
  const { items, properties } = shape
  if (items) {
    const list = value as unknown[]
    return list.map((item, index) => checkValue(items, item, `${path}[${index}]`, reading))
  }
  if (shape.type !== 'object') return value
  return properties
    ? checkObject(shape, value as object, path, reading)
    : checkRecord(shape, value as object, path, reading)
}

/** The value that another spelling stands for: a duration, a word with what may stand before it. */
function readSpelling({ unit, prefix }: Shape, given: unknown): unknown {
  if (typeof given !== 'string') return given
  if (unit === 'seconds') return parseDuration(given)
  return prefix && given.startsWith(prefix) ? given.slice(prefix.length) : given
}

/** Whether a value has the type and the bounds of a shape; what it holds is not looked at. */
function accepts(shape: Shape, value: unknown): boolean {
  switch (shape.type) {
    case undefined:
      return true
    case 'string': {
      if (typeof value !== 'string') return false
      const { enum: values, pattern, minLength = 0, maxLength = Infinity } = shape
      if (values) return values.includes(value)
      if (pattern !== undefined && !new RegExp(pattern).test(value)) return false
      if (minLength > 0 && value.includes('\0')) return false
      return value.length >= minLength && value.length <= maxLength
    }
    case 'number':
    case 'integer': {
      if (typeof value !== 'number') return false
      const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = shape
      const isRight = shape.type === 'number' ? Number.isFinite(value) : Number.isSafeInteger(value)
      return isRight && value >= minimum && value > exclusiveMinimum && value <= maximum
    }
    default:
      return jsonTypeOf(value) === shape.type
  }
}

/** An object with names of somebody's own. */
function checkRecord(
  { additionalProperties: values, propertyNames }: Shape,
  given: object,
  path: string,
  reading: Reading,
): Record<string, unknown> {
  const checked = Object.entries(given).map(([name, value]) => {
    if (propertyNames && !accepts(propertyNames, name)) {
      const message = `\`${name.slice(0, 80)}\` cannot be a name in \`${path}\``
      throw new MisuseError('invalid_field', message, path)
    }
    return [name, checkValue(values as Shape, value, `${path}.${name}`, reading)]
  })
  return Object.fromEntries(checked) as Record<string, unknown>
}

function checkObject(
  { properties = {}, required = [], additionalProperties: isOpen }: Shape,
  given: object,
  path: string,
  reading: Reading,
): Record<string, unknown> {
  const { names, called = 'field' } = reading
  const isWire = names === 'wire'
  const spell = isWire ? toSnakeCase : (name: string) => name
  const checked: Record<string, unknown> = {}
  const within = path === '' ? '' : `${path}.`
  for (const [spelled, value] of Object.entries(given)) {
    const name = isWire ? toCamelCase(spelled) : spelled
    const isKnown = Object.hasOwn(properties, name) && spell(name) === spelled
    const shape = isKnown ? properties[name] : undefined
    if (shape === undefined) {
      if (isOpen) continue
      const known = Object.keys(properties).map(spell)
      throw unknownName(called, spelled, known, `${within}${spelled}`)
    }
    // A caller in JavaScript may give `undefined` for a field that it leaves out.
    if (value === undefined && !isWire) continue
    checked[name] = checkValue(shape, value, `${within}${spelled}`, reading)
  }
  for (const name of required) {
    if (name in checked) continue
    const spelled = within + spell(name)
    const shape = properties[name]
    const values = shape?.enum ? `; it must be ${wantedOf(shape)}` : ''
    throw new MisuseError('missing_field', `\`${spelled}\` is missing${values}`, spelled)
  }
  return checked
}

function jsonTypeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** What a value of this shape must be, in words: "a whole number, 20 to 400". */
export function wantedOf(shape: Shape): string {
  const { wanted, enum: values, anyOf, items, properties, additionalProperties } = shape
  if (wanted !== undefined) return wanted
  if (values) return `one of ${values.join(', ')}`
  if (anyOf) return anyOf.map(wantedOf).join(', or ')
  switch (shape.type) {
    case 'string':
      if (shape.maxLength !== undefined) return `a text of at most ${shape.maxLength} characters`
      return shape.minLength ? 'a text that is not empty' : 'a text'
    case 'boolean':
      return 'true or false'
    case 'number':
    case 'integer': {
      const { minimum: min, exclusiveMinimum: above, maximum: max } = shape
      const bounds =
        min !== undefined && max !== undefined
          ? `, ${min} to ${max}`
          : [
              above === undefined ? '' : ` above ${above}`,
              min === undefined ? '' : `, ${min} or more`,
              max === undefined ? '' : `, at most ${max}`,
            ].join('')
      const spelled = shape.unit === 'seconds' ? ', in seconds or as 500ms, 30s, 5m, 2h' : ''
      return `a ${shape.type === 'integer' ? 'whole ' : ''}number${bounds}${spelled}`
    }
    case 'array':
      return `a list of ${pluralOf(items)}`
    case 'object':
      return properties ? 'an object' : `an object of ${pluralOf(additionalProperties)}`
    case 'null':
      return 'null'
    default:
      return 'a value'
  }
}

function pluralOf(of: Shape | boolean = false): string {
  if (typeof of === 'boolean') return 'values'
  if (isNumber(of)) return 'numbers'
  return of.type === 'string' ? 'texts' : of.type === 'object' ? 'objects' : 'values'
}

/** Misuse of a field: what it must be, and what it is. */
export function invalid(name: string, wanted: string, value: unknown): MisuseError {
  const shown = JSON.stringify(value)?.slice(0, 80) ?? String(value)
  return new MisuseError('invalid_field', `\`${name}\` must be ${wanted}, not ${shown}`, name)
}
