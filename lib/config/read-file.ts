import { isObject } from '../protocol/shape/shape.ts'
import { MisuseError } from '../protocol/errors.ts'
import { unknownField } from '../protocol/shape/check.ts'
import type { Document } from './document.ts'
import { groups, keys } from './keys.ts'
import { type Entry, type Folders, readKeyValue, wrongConfiguration } from './entry.ts'

/**
 * The entries of a configuration file. Throws `MisuseError`, which names the file and the line; with
 * `notices`, what is wrong is left out and told there.
 */
export function readConfigFile(document: Document, folders: Folders, notices?: string[]): Entry[] {
  function attempt<Part>(read: () => Part[]): Part[] {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      const wrong = wrongConfiguration(document.placeOf(error.field ?? ''), error.message)
      if (!notices) throw wrong
      notices.push(`${wrong.message}; it is ignored`)
      return []
    }
  }
  // `$schema` is there for editors, which find the JSON Schema by it; nacre passes it by.
  const { $schema: _, ...said } = document.value
  return Object.entries(said)
    .flatMap(([name, held]) => attempt(() => flatten(name, held)))
    .flatMap(([name, value]) => attempt(() => [readEntry(name, value, document, folders)]))
}

/** A key with its value; of a group each, as `group.key`. */
function flatten(name: string, held: unknown): [string, unknown][] {
  if (!groups.has(name)) return [[name, held]]
  // `"guard": false` is short for `"guard": { "enabled": false }`.
  if (typeof held === 'boolean' && keys.has(`${name}.enabled`)) return [[`${name}.enabled`, held]]
  if (isObject(held)) return Object.entries(held).map(([key, item]) => [`${name}.${key}`, item])
  throw new MisuseError('invalid_field', `\`${name}\` must be an object`, name)
}

function readEntry(name: string, value: unknown, document: Document, folders: Folders): Entry {
  const key = keys.get(name)
  if (key === undefined) throw unknownIn(name)
  const checked = readKeyValue(name, value, key.shape, folders)
  const place = document.placeOf(name)
  return {
    name,
    value: name === 'guard.rules' ? nameRules(name, checked, document) : checked,
    place,
  }
}

/** A rule without a name is known by its place. */
function nameRules(path: string, rules: unknown, document: Document): unknown {
  return (rules as Record<string, unknown>[]).map((rule, index) => ({
    name: document.placeOf(`${path}[${index}]`),
    ...rule,
  }))
}

const reading = { names: 'code', called: 'key' } as const

function unknownIn(name: string): MisuseError {
  const [group = '', key] = name.split('.')
  if (key === undefined || !groups.has(group)) {
    const top = [...keys.keys()].map((known) => known.split('.')[0] ?? '')
    return unknownField(name, name, [...new Set(top)], reading)
  }
  const within = [...keys.keys()].filter((known) => known.startsWith(`${group}.`))
  const names = within.map((known) => known.slice(group.length + 1))
  return unknownField(name, key, names, reading)
}
