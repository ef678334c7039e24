import { MisuseError } from '../errors.ts'
import { nearestName, toCamelCase, toSnakeCase } from '../wire.ts'
import { parseDuration } from '../words.ts'
import { isObject, type Kind, type Shape } from './shape.ts'

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
  return checkKind(shape, given, path, reading) as Value
}

function checkKind(kind: Kind, given: unknown, path: string, reading: Reading): unknown {
  switch (kind.kind) {
    case 'list':
      if (accepts(kind, given)) return given
      if (!Array.isArray(given) || isSimple(kind.items)) throw invalid(path, wantedOf(kind), given)
      return given.map((item, index) => checkKind(kind.items, item, `${path}[${index}]`, reading))
    case 'tuple':
      if (!Array.isArray(given) || given.length !== kind.items.length) {
        throw invalid(path, wantedOf(kind), given)
      }
      return kind.items.map((item, index) =>
        checkKind(item, given[index], `${path}[${index}]`, reading),
      )
    case 'record':
      return checkRecord(kind, given, path, reading)
    case 'object':
      return checkObject(kind, given, path, reading)
    case 'nullable':
      return given === null ? null : checkKind(kind.of, given, path, reading)
    case 'either': {
      const found = kind.shapes.find((shape) => isOfType(shape, given))
      if (found === undefined || (isPlain(found) && !accepts(found, given))) {
        throw invalid(path, kind.wanted, given)
      }
      return checkKind(found, given, path, reading)
    }
    case 'choice': {
      const { prefix } = kind
      const isPrefixed =
        prefix !== undefined && typeof given === 'string' && given.startsWith(prefix)
      const value = isPrefixed ? given.slice(prefix.length) : given
      if (accepts(kind, value)) return value
      throw wrongChoice(path, given, kind.values)
    }
    default:
      if (accepts(kind, given)) return given
      throw invalid(path, wantedOf(kind), given)
  }
}

function checkObject(
  { required, optional, isOpen }: Extract<Kind, { kind: 'object' }>,
  given: unknown,
  path: string,
  reading: Reading,
): Record<string, unknown> {
  if (!isObject(given)) throw invalid(path || nameOfAll(reading), 'an object', given)
  const checked: Record<string, unknown> = {}
  const within = path === '' ? '' : `${path}.`
  for (const [spelled, value] of Object.entries(given)) {
    const name = nameInCode(spelled, reading)
    const shape = name === null ? undefined : (fieldOf(required, name) ?? fieldOf(optional, name))
    if (name === null || shape === undefined) {
      if (isOpen) continue
      const known = [...Object.keys(required), ...Object.keys(optional)]
      throw unknownField(`${within}${spelled}`, spelled, known, reading)
    }
    // A caller in JavaScript may give `undefined` for a field that it leaves out.
    if (value === undefined && reading.names === 'code') continue
    checked[name] = checkKind(shape, value, `${within}${spelled}`, reading)
  }
  for (const name of Object.keys(required)) {
    if (name in checked) continue
    const spelled = within + (reading.names === 'wire' ? toSnakeCase(name) : name)
    const shape = required[name]
    const values = shape?.kind === 'choice' ? `; it must be ${wantedOf(shape)}` : ''
    throw new MisuseError('missing_field', `\`${spelled}\` is missing${values}`, spelled)
  }
  return checked
}

function fieldOf(fields: Readonly<Record<string, Shape>>, name: string): Shape | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined
}

/** Null where no name of the code is spelled like this. */
function nameInCode(spelled: string, { names }: Reading): string | null {
  if (names === 'code') return spelled
  return /[A-Z]/.test(spelled) ? null : toCamelCase(spelled)
}

function checkRecord(
  kind: Extract<Kind, { kind: 'record' }>,
  given: unknown,
  path: string,
  reading: Reading,
): Record<string, unknown> {
  if (!isObject(given)) throw invalid(path, wantedOf(kind), given)
  const checked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (kind.namePattern && !kind.namePattern.test(name)) {
      const message = `\`${name.slice(0, 80)}\` cannot be a name in \`${path}\``
      throw new MisuseError('invalid_field', message, path)
    }
    checked[name] = checkKind(kind.values, value, `${path}.${name}`, reading)
  }
  return checked
}

/** Whether a value is one of a plain kind. */
function accepts(kind: Kind, given: unknown): boolean {
  switch (kind.kind) {
    case 'text': {
      if (typeof given !== 'string') return false
      if (kind.maxLength !== null && given.length > kind.maxLength) return false
      return kind.mayBeEmpty || (given !== '' && !given.includes('\0'))
    }
    case 'boolean':
      return typeof given === 'boolean'
    case 'number':
      return (
        typeof given === 'number' &&
        (kind.isWhole ? Number.isSafeInteger(given) : Number.isFinite(given)) &&
        (kind.min === null || given >= kind.min) &&
        (kind.above === null || given > kind.above) &&
        (kind.max === null || given <= kind.max)
      )
    case 'choice':
      return typeof given === 'string' && kind.values.includes(given)
    case 'list':
      return (
        Array.isArray(given) &&
        isSimple(kind.items) &&
        given.every((item) => accepts(kind.items, item))
      )
    default:
      return kind.kind === 'anything'
  }
}

/** Whether values of a kind have no parts of their own. */
function isSimple({ kind }: Kind): boolean {
  return ['text', 'boolean', 'number', 'choice', 'anything'].includes(kind)
}

/** Whether a wrong value is best told as a whole, not by the part of it that is wrong. */
function isPlain(kind: Kind): boolean {
  return isSimple(kind) || (kind.kind === 'list' && isSimple(kind.items))
}

/** Whether a value has the JSON type of a kind, right or wrong within it. */
function isOfType(kind: Kind, given: unknown): boolean {
  switch (kind.kind) {
    case 'text':
    case 'choice':
      return typeof given === 'string'
    case 'boolean':
      return typeof given === 'boolean'
    case 'number':
      return typeof given === 'number'
    case 'list':
    case 'tuple':
      return Array.isArray(given)
    case 'record':
    case 'object':
      return isObject(given)
    case 'nullable':
      return given === null || isOfType(kind.of, given)
    case 'either':
      return kind.shapes.some((shape) => isOfType(shape, given))
    case 'anything':
      return true
  }
}

/** What is called wrong where all of it is. */
const nameOfAll = ({ names }: Reading) => (names === 'code' ? 'request' : 'params')

/** What a value of this kind must be, in words: "a whole number, 20 to 400". */
export function wantedOf(kind: Kind): string {
  switch (kind.kind) {
    case 'text':
      if (kind.maxLength !== null) return `a text of at most ${kind.maxLength} characters`
      return kind.mayBeEmpty ? 'a text' : 'a text that is not empty'
    case 'boolean':
      return 'true or false'
    case 'number':
      return wantedNumber(kind)
    case 'choice':
      return `one of ${kind.values.join(', ')}`
    case 'list':
      return `a list of ${pluralOf(kind.items)}`
    case 'tuple':
      return `a list of ${kind.items.length} values`
    case 'record':
      return `an object of ${pluralOf(kind.values)}`
    case 'object':
      return 'an object'
    case 'nullable':
      return `${wantedOf(kind.of)}, or null`
    case 'either':
      return kind.wanted
    case 'anything':
      return 'a value'
  }
}

function wantedNumber({ isWhole, min, above, max }: Extract<Kind, { kind: 'number' }>): string {
  const what = isWhole ? 'a whole number' : 'a number'
  if (min !== null && max !== null) return `${what}, ${min} to ${max}`
  const least = above !== null ? ` above ${above}` : min !== null ? `, ${min} or more` : ''
  return `${what}${least}${max === null ? '' : `, at most ${max}`}`
}

function pluralOf({ kind }: Kind): string {
  switch (kind) {
    case 'text':
      return 'texts'
    case 'number':
      return 'numbers'
    case 'object':
    case 'record':
      return 'objects'
    default:
      return 'values'
  }
}

/** Checks what a person wrote, who may write a time as `30s`. */
export function checkWritten(
  shape: Shape,
  given: unknown,
  name: string,
  reading: Reading,
): unknown {
  const isTime = isDuration(shape) && typeof given === 'string'
  if (!isTime) return check(shape, given, name, reading)
  const seconds = parseDuration(given)
  if (seconds === null) throw invalid(name, wantedWritten(shape), given)
  return check(shape, seconds, name, reading)
}

/** What a person must write, in words. */
export function wantedWritten(shape: Shape): string {
  const wanted = wantedOf(shape)
  return isDuration(shape) ? `${wanted}, in seconds or as 500ms, 30s, 5m, 2h` : wanted
}

const isDuration = (shape: Shape) => shape.kind === 'number' && shape.unit === 'seconds'

/** Misuse of a field: what it must be, and what it is. */
export function invalid(name: string, wanted: string, value: unknown): MisuseError {
  const shown = JSON.stringify(value)?.slice(0, 80) ?? String(value)
  return new MisuseError('invalid_field', `\`${name}\` must be ${wanted}, not ${shown}`, name)
}

function wrongChoice(path: string, given: unknown, values: readonly string[]): MisuseError {
  const { code, message } = invalid(path, `one of ${values.join(', ')}`, given)
  const nearest = typeof given === 'string' ? nearestName(given, values) : null
  const hint = nearest === null ? '' : `; did you mean "${nearest}"?`
  return new MisuseError(code, message + hint, path)
}

/** Misuse of a name that an object does not have, with the nearest one that it has. */
export function unknownField(
  path: string,
  spelled: string,
  known: readonly string[],
  { names, called = 'field' }: Reading,
): MisuseError {
  const spellings = names === 'wire' ? known.map(toSnakeCase) : known
  const nearest = nearestName(spelled, spellings)
  const others = called === 'key' ? `; the keys are ${spellings.join(', ')}` : ''
  const hint = nearest === null ? others : `; did you mean \`${nearest}\`?`
  return new MisuseError(`unknown_${called}`, `Unknown ${called} \`${spelled}\`${hint}`, path)
}
