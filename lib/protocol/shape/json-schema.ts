import { toSnakeCase } from '../wire.ts'
import type { Fields, ObjectShape, Shape } from './shape.ts'

/** A JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A JSON Schema of an object, as messages and tools need one. */
export type ObjectSchema = {
  type: 'object'
  properties: Record<string, JsonSchema>
  required: string[]
  additionalProperties: boolean
}

/** The schema of an object, in the names of the wire. */
export function objectSchema({ required, optional, isOpen }: ObjectShape): ObjectSchema {
  return {
    type: 'object',
    properties: { ...propertiesOf(required), ...propertiesOf(optional) },
    required: Object.keys(required).map(toSnakeCase),
    additionalProperties: isOpen,
  }
}

function propertiesOf(fields: Fields): Record<string, JsonSchema> {
  const entries = Object.entries(fields)
  return Object.fromEntries(entries.map(([name, shape]) => [toSnakeCase(name), jsonSchema(shape)]))
}

/** The schema of any shape, with its description where it has one. */
export function jsonSchema(shape: Shape): JsonSchema {
  const { description } = shape
  return { ...typeSchema(shape), ...(description && { description }) }
}

function typeSchema(shape: Shape): JsonSchema {
  switch (shape.kind) {
    case 'text': {
      const { mayBeEmpty, maxLength } = shape
      return {
        type: 'string',
        ...(!mayBeEmpty && { minLength: 1 }),
        ...(maxLength !== null && { maxLength }),
      }
    }
    case 'boolean':
      return { type: 'boolean' }
    case 'number': {
      const { isWhole, min, above, max } = shape
      return {
        type: isWhole ? 'integer' : 'number',
        ...(min !== null && { minimum: min }),
        ...(above !== null && { exclusiveMinimum: above }),
        ...(max !== null && { maximum: max }),
      }
    }
    case 'choice':
      return { type: 'string', enum: [...shape.values] }
    case 'list':
      return { type: 'array', items: jsonSchema(shape.items) }
    case 'tuple': {
      const { length } = shape.items
      return {
        type: 'array',
        prefixItems: shape.items.map(jsonSchema),
        minItems: length,
        maxItems: length,
      }
    }
    case 'record': {
      const { values, namePattern } = shape
      return {
        type: 'object',
        additionalProperties: jsonSchema(values),
        ...(namePattern && { propertyNames: { pattern: namePattern.source } }),
      }
    }
    case 'object':
      return { ...objectSchema(shape) }
    case 'nullable':
      return { anyOf: [jsonSchema(shape.of), { type: 'null' }] }
    case 'either':
      return { anyOf: shape.shapes.map(jsonSchema) }
    case 'anything':
      return {}
  }
}
