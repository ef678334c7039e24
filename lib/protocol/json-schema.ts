import type { ValueType } from './check-value.ts'
import type { Params } from './params.ts'
import { toSnakeCase } from './wire.ts'

/** A JSON Schema (2020-12) of an object, as far as messages and tools need one. */
export interface ObjectSchema {
  type: 'object'
  properties: Record<string, Record<string, unknown>>
  required: string[]
  additionalProperties: false
}

/** The schema of a table of parameters, in the names of the wire. */
export function schemaOfParams(params: Params): ObjectSchema {
  const entries = Object.entries(params).map(([name, param]) => ({
    wireName: toSnakeCase(name),
    ...param,
  }))
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(({ wireName, type, description }) => [
        wireName,
        { ...schemaOfValue(type), description },
      ]),
    ),
    required: entries.filter(({ required }) => required).map(({ wireName }) => wireName),
    additionalProperties: false,
  }
}

/** The schema of one value. */
export function schemaOfValue(type: ValueType): Record<string, unknown> {
  switch (type.kind) {
    case 'string':
      return { type: 'string', minLength: 1 }
    case 'text':
      return { type: 'string' }
    case 'boolean':
      return { type: 'boolean' }
    case 'integer': {
      const { min, max } = type
      const range = max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max }
      return { type: 'integer', minimum: min, ...range }
    }
    case 'number':
      return { type: 'number', exclusiveMinimum: type.above }
    case 'atLeast':
      return { type: 'number', minimum: type.min }
    case 'choice':
      return { type: 'string', enum: [...type.values] }
    case 'strings':
      return { type: 'object', additionalProperties: { type: 'string' } }
    case 'object':
      return { type: 'object' }
    case 'within':
      return { type: 'number', exclusiveMinimum: type.above, maximum: type.max }
    case 'id':
      return { type: ['string', 'number', 'null'] }
    case 'names':
      return { type: 'array', items: { type: 'string' } }
  }
}
