import { MisuseError } from '../errors.ts'
import { didYouMean, toCamelCase, toSnakeCase, unknownName } from '../wire.ts'
import { parseDuration } from '../words.ts'
import { isObject, type Kind, type ObjectShape, type Shape } from './shape.ts'

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
    case 'anything':
      return given
    case 'nullable':
      return given === null ? null : checkKind(kind.of, given, path, reading)
    case 'either': {
      const found = kind.shapes.find(({ kind }) => jsonTypes[kind] === jsonTypeOf(given))
      if (found === undefined) throw invalid(path, kind.wanted, given)
      return checkKind(found, given, path, reading)
    }
    case 'list':
      if (!Array.isArray(given)) throw invalid(path, wantedOf(kind), given)
      return given.map((item, index) => checkKind(kind.items, item, `${path}[${index}]`, reading))
    case 'record': {
      if (!isObject(given)) throw invalid(path, wantedOf(kind), given)
      const wrong = Object.keys(given).find((name) => kind.namePattern?.test(name) === false)
      if (wrong !== undefined) {
        const message = `\`${wrong.slice(0, 80)}\` cannot be a name in \`${path}\``
        throw new MisuseError('invalid_field', message, path)
      }
      const checked = Object.entries(given).map(([name, value]) => [
        name,
        checkKind(kind.values, value, `${path}.${name}`, reading),
      ])
      return Object.fromEntries(checked) as unknown
    }
    case 'object':
      return checkObject(kind, given, path, reading)
    case 'choice': {
      const { values, prefix = '' } = kind
      const word = typeof given === 'string' ? given : ''
      const value = word.startsWith(prefix) ? word.slice(prefix.length) : word
      if (values.includes(value)) return value
      const { code, message } = invalid(path, wantedOf(kind), given)
      throw new MisuseError(code, message + didYouMean(value, values, '"'), path)
    }
    case 'number': {
      const isDuration = kind.unit === 'seconds' && typeof given === 'string'
      const value = isDuration ? parseDuration(given) : given
      if (acceptsNumber(kind, value)) return value
      throw invalid(path, wantedOf(kind), given)
    }
    case 'text':
      if (acceptsText(kind, given)) return given
      throw invalid(path, wantedOf(kind), given)
    case 'boolean':
      if (typeof given === 'boolean') return given
      throw invalid(path, wantedOf(kind), given)
  }
}

function acceptsText(
  { mayBeEmpty, maxLength = Infinity }: Extract<Kind, { kind: 'text' }>,
  given: unknown,
): boolean {
  if (typeof given !== 'string' || given.length > maxLength) return false
  return mayBeEmpty || (given !== '' && !given.includes('\0'))
}

function acceptsNumber(
  {
    isWhole,
    min = -Infinity,
    above = -Infinity,
    max = Infinity,
  }: Extract<Kind, { kind: 'number' }>,
  given: unknown,
): boolean {
  if (typeof given !== 'number') return false
  const isRight = isWhole ? Number.isSafeInteger(given) : Number.isFinite(given)
  return isRight && given >= min && given > above && given <= max
}

function checkObject(
  { required, optional, isOpen }: ObjectShape,
  given: unknown,
  path: string,
  reading: Reading,
): Record<string, unknown> {
  const { names, called = 'field' } = reading
  const isWire = names === 'wire'
  if (!isObject(given)) throw invalid(path || (isWire ? 'params' : 'request'), 'an object', given)
  const checked: Record<string, unknown> = {}
  const within = path === '' ? '' : `${path}.`
  for (const [spelled, value] of Object.entries(given)) {
    const name = isWire ? toCamelCase(spelled) : spelled
    const isSpelled = !isWire || toSnakeCase(name) === spelled
    const fields = [required, optional].find((known) => isSpelled && Object.hasOwn(known, name))
    const shape = fields?.[name]
    if (shape === undefined) {
      if (isOpen) continue
      const known = [...Object.keys(required), ...Object.keys(optional)]
      const spellings = isWire ? known.map(toSnakeCase) : known
      throw unknownName(called, spelled, spellings, `${within}${spelled}`)
    }
    // A caller in JavaScript may give `undefined` for a field that it leaves out.
    if (value === undefined && !isWire) continue
    checked[name] = checkKind(shape, value, `${within}${spelled}`, reading)
  }
  for (const [name, shape] of Object.entries(required)) {
    if (name in checked) continue
    const spelled = within + (isWire ? toSnakeCase(name) : name)
    const values = shape.kind === 'choice' ? `; it must be ${wantedOf(shape)}` : ''
    throw new MisuseError('missing_field', `\`${spelled}\` is missing${values}`, spelled)
  }
  return checked
}

/** The JSON type of the values of a kind, where they have a single one. */
const jsonTypes: Partial<Record<Kind['kind'], string>> = {
  text: 'string',
  choice: 'string',
  boolean: 'boolean',
  number: 'number',
  list: 'array',
  record: 'object',
  object: 'object',
}

function jsonTypeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** What a value of this kind must be, in words: "a whole number, 20 to 400". */
export function wantedOf(kind: Kind): string {
  switch (kind.kind) {
    case 'text':
      if (kind.maxLength !== undefined) return `a text of at most ${kind.maxLength} characters`
      return kind.mayBeEmpty ? 'a text' : 'a text that is not empty'
    case 'boolean':
      return 'true or false'
    case 'number': {
      const { isWhole, min, above, max, unit } = kind
      const bounds =
        min !== undefined && max !== undefined
          ? `, ${min} to ${max}`
          : [
              above === undefined ? '' : ` above ${above}`,
              min === undefined ? '' : `, ${min} or more`,
              max === undefined ? '' : `, at most ${max}`,
            ].join('')
      const spelled = unit === 'seconds' ? ', in seconds or as 500ms, 30s, 5m, 2h' : ''
      return `a ${isWhole ? 'whole ' : ''}number${bounds}${spelled}`
    }
    case 'choice':
      return `one of ${kind.values.join(', ')}`
    case 'list':
      return `a list of ${pluralOf(kind.items)}`
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

function pluralOf({ kind }: Kind): string {
  return kind === 'text' || kind === 'number' || kind === 'object' ? `${kind}s` : 'values'
}

/** Misuse of a field: what it must be, and what it is. */
export function invalid(name: string, wanted: string, value: unknown): MisuseError {
  const shown = JSON.stringify(value)?.slice(0, 80) ?? String(value)
  return new MisuseError('invalid_field', `\`${name}\` must be ${wanted}, not ${shown}`, name)
}
