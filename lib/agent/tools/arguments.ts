import { MisuseError } from '../../protocol/errors.ts'
import { check } from '../../protocol/shape/check.ts'
import { isObject, type Kind, type ObjectShape } from '../../protocol/shape/shape.ts'
import { toCamelCase } from '../../protocol/wire.ts'

/** What models write in place of a tool's own names, because other tools are called so. */
export interface Habits {
  /** Other names of a parameter, in the names of the wire. */
  readonly names?: Readonly<Record<string, string>>
  /** Parameters that change nothing about what is done: a remark for the person who looks on. */
  readonly ignored?: readonly string[]
}

/**
 * Reads the arguments of a tool's call. Beside what the shape says, a number, a whole list or a truth
 * value may come as its text (`"5"`), the text of a variable as a number or a truth value
 * (`{"PORT": 8080}`), an optional parameter as null, and a parameter under a name that models know from
 * other tools. Throws `MisuseError`, which names what is wrong.
 */
export function readArguments<Value>(
  params: ObjectShape<Value>,
  given: unknown,
  { names = {}, ignored = [] }: Habits = {},
): Value {
  return check(params, isObject(given) ? translate(params, given) : given, '', { names: 'wire' })

  function translate(
    { required, optional }: ObjectShape,
    args: Readonly<Record<string, unknown>>,
  ): Record<string, unknown> {
    const kinds = { ...required, ...optional }
    const isKnown = (name: string) => Object.hasOwn(kinds, toCamelCase(name))
    const translated: Record<string, unknown> = {}
    for (const [spelled, value] of Object.entries(args)) {
      if (value === null || (ignored.includes(spelled) && !isKnown(spelled))) continue
      const other = Object.hasOwn(names, spelled) ? names[spelled] : undefined
      const name = isKnown(spelled) ? spelled : (other ?? spelled)
      if (Object.hasOwn(translated, name)) {
        const message = `\`${spelled}\` means the same as another argument; give \`${name}\` alone`
        throw new MisuseError('invalid_field', message, spelled)
      }
      const kind = isKnown(name) ? kinds[toCamelCase(name)] : undefined
      translated[name] = kind ? readHabit(kind, value) : value
    }
    return translated
  }
}

/** What is meant by a value of another JSON type than the parameter has; else what was given. */
function readHabit(kind: Kind, given: unknown): unknown {
  return kind.kind === 'record' && kind.values.kind === 'text' && isObject(given)
    ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, toText(value)]))
    : readText(kind, given)
}

function toText(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
}

/** The value that a text stands for where the parameter is no text; else what was given. */
function readText({ kind }: Kind, given: unknown): unknown {
  if (typeof given !== 'string') return given
  const text = given.trim()
  switch (kind) {
    case 'number':
      return /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : given
    case 'boolean':
      return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : given
    case 'list':
      return readList(text) ?? given
    default:
      return given
  }
}

function readList(text: string): unknown[] | null {
  if (!text.startsWith('[')) return null
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    return null
  }
}
