import type { ConfiguredKey } from '../protocol/configuration.ts'
import { type JsonSchema, jsonSchema, type ObjectSchema } from '../protocol/shape/json-schema.ts'
import { wantedWritten } from '../protocol/shape/check.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { toWire, unknownName } from '../protocol/wire.ts'
import type { Entry } from './configuration.ts'
import { groups, keys } from './keys.ts'

/** Every key with what the entries say of it, in the order in which they win. */
export function reportKeys(
  entries: readonly Entry[],
  values: ReadonlyMap<string, unknown>,
): ConfiguredKey[] {
  return [...keys].map(([key, { shape, variable, workspace }]) => ({
    key,
    value: toWire(values.get(key)) ?? null,
    places: placesOf(key, entries),
    description: shape.description ?? '',
    wanted: wantedWritten(shape),
    variable,
    workspace: typeof workspace === 'function' ? 'tighten' : 'nothing',
  }))
}

/** The key of this name, or all of a group. Throws `MisuseError` with the nearest where there is none. */
export function findReports(reports: readonly ConfiguredKey[], name: string): ConfiguredKey[] {
  const found = reports.filter(({ key }) => key === name || key.startsWith(`${name}.`))
  if (found.length > 0) return found
  throw unknownName('key', name, [...keys.keys(), ...groups])
}

/** Where a later entry replaces an earlier one, only the last place counts. */
function placesOf(key: string, entries: readonly Entry[]): string[] {
  const places = entries.filter(({ name }) => name === key).map(({ place }) => place)
  return keys.get(key)?.addsUp ? places : places.slice(-1)
}

/** The file of the configuration as a JSON Schema, for editors. */
export function configurationSchema(): JsonSchema {
  const properties: Record<string, JsonSchema> = {
    $schema: { type: 'string', description: 'Where this schema is' },
  }
  const within = new Map<string, ObjectSchema>()
  for (const [name, { shape }] of keys) {
    const [group = '', key] = name.split('.')
    if (key === undefined) properties[name] = valueSchema(shape)
    else {
      const schema = within.get(group) ?? emptyObject()
      schema.properties[key] = valueSchema(shape)
      within.set(group, schema)
    }
  }
  for (const group of groups) {
    const schema = within.get(group) ?? emptyObject()
    properties[group] = schema.properties['enabled']
      ? { anyOf: [schema, { type: 'boolean' }] }
      : schema
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of nacre',
    type: 'object',
    properties,
    additionalProperties: false,
  }
}

function emptyObject(): ObjectSchema {
  return { type: 'object', properties: {}, required: [], additionalProperties: false }
}

function valueSchema(shape: Shape): JsonSchema {
  const schema = jsonSchema(shape)
  if (shape.kind !== 'number' || shape.unit !== 'seconds') return schema
  const { description, ...number } = schema
  const duration = { type: 'string', pattern: '^(\\d+(\\.\\d*)?|\\.\\d+)(ms|s|m|h)?$' }
  return { anyOf: [number, duration], description }
}
