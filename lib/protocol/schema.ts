/** A JSON Schema (2020-12). */
export type Schema = Readonly<Record<string, unknown>>

export const text = { type: 'string' }
export const flag = { type: 'boolean' }
export const count = { type: 'integer', minimum: 0 }
export const milliseconds = { type: 'number', minimum: 0 }

export function list(items: Schema): Schema {
  return { type: 'array', items }
}
export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] }
}
export function oneOf(...values: string[]): Schema {
  return { type: 'string', enum: values }
}
/** Every field is there; those of `optional` may be missing. */
export function object(
  fields: Record<string, Schema>,
  optional: Record<string, Schema> = {},
): Schema {
  return {
    type: 'object',
    properties: { ...fields, ...optional },
    required: Object.keys(fields),
    additionalProperties: false,
  }
}
