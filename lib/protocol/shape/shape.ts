import { toSnakeCase } from '../wire.ts'

/**
 * Shapes: what a value that crosses a border of nacre may be. Each is declared once, as data, and
 * everything else is made of it: its TypeScript type (`Infer`), its check (`check.ts`), its JSON
 * Schema, the options of the command line, the keys of the configuration, help, completions and reference.
 *
 *     const size = shape.object({ columns: shape.integer('Width', { min: 20 }) }, { rows: … })
 *     type Size = Infer<typeof size> // { columns: number; rows?: … }
 */

/** What a value may be, without its type. */
export type Kind =
  | {
      readonly kind: 'text'
      /** What the value is called in help: `name`. `dir` and `path` name places of the file system. */
      readonly hint: string
      readonly mayBeEmpty: boolean
      readonly maxLength?: number
    }
  | { readonly kind: 'boolean' }
  | ({ readonly kind: 'number'; readonly isWhole: boolean } & NumberOptions)
  | {
      readonly kind: 'choice'
      readonly values: readonly string[]
      /** May stand before each value and changes nothing: `SIG`. */
      readonly prefix?: string
    }
  | { readonly kind: 'list'; readonly items: Shape }
  /** An object whose keys are somebody's own names, such as variables. */
  | { readonly kind: 'record'; readonly values: Shape; readonly namePattern: RegExp | null }
  | {
      readonly kind: 'object'
      readonly required: Fields
      readonly optional: Fields
      /** True: fields that are not known here are passed by. */
      readonly isOpen: boolean
    }
  | { readonly kind: 'nullable'; readonly of: Shape }
  /** One of several shapes, which differ in their JSON type; `wanted` says in words what they are. */
  | { readonly kind: 'either'; readonly shapes: readonly Shape[]; readonly wanted: string }
  | { readonly kind: 'anything' }

interface NumberOptions {
  /** The least value that is accepted, or the value that it must be above. */
  readonly min?: number
  readonly above?: number
  readonly max?: number
  /** `seconds`: a duration such as `5m` is accepted too. */
  readonly unit?: 'seconds'
}

/** A shape of values of the type `Value`. */
export type Shape<Value = unknown> = Kind & {
  /** One line for help, schemas and references. */
  readonly description?: string
  /** The type of the values. Nothing is there at run time. */
  readonly '~value'?: Value
}

/** Shapes by name, as the code spells it: `timeoutSeconds`. */
export type Fields = Readonly<Record<string, Shape>>

/** The type of the values of a shape. */
export type Infer<Of> = Of extends { readonly '~value'?: infer Value } ? Value : never

/** The type of an object of which each field has its shape. */
export type InferFields<Of extends Fields> = { -readonly [Name in keyof Of]: Infer<Of[Name]> }

/** The same where every field may be left out, or be there without a value. */
export type Optional<Of extends Fields> = { [Name in keyof Of]?: Infer<Of[Name]> | undefined }

type ObjectOf<Required extends Fields, Optional extends Fields> = Flat<
  InferFields<Required> & Partial<InferFields<Optional>>
>
type Flat<Type> = { [Name in keyof Type]: Type[Name] }

/** A shape that is known to be an object. */
export type ObjectShape<Value = unknown> = Extract<Kind, { kind: 'object' }> & Shape<Value>
/** A shape that is known to be a choice: its values can be listed. */
export interface ChoiceShape<Value extends string> {
  readonly kind: 'choice'
  readonly values: readonly Value[]
  readonly prefix?: string
  readonly description?: string
  readonly '~value'?: Value
}

/** A text that is not empty and holds no NUL, unless `mayBeEmpty`: then any text. */
export function text(
  description = '',
  options: { hint?: string; mayBeEmpty?: boolean; maxLength?: number } = {},
): Shape<string> {
  return { kind: 'text', hint: 'text', mayBeEmpty: false, ...options, description }
}

/** Any text, also an empty one. */
export function anyText(description = '', hint = 'text'): Shape<string> {
  return text(description, { hint, mayBeEmpty: true })
}

export function boolean(description = ''): Shape<boolean> {
  return { kind: 'boolean', description }
}

/** A number: any that is finite, within the bounds that are given. */
export function number(description = '', options: NumberOptions = {}): Shape<number> {
  return { kind: 'number', isWhole: false, ...options, description }
}

/** A time, 0 or more where no bound is given. */
export function seconds(description = '', options: NumberOptions = { min: 0 }): Shape<number> {
  return number(description, { ...options, unit: 'seconds' })
}

/** A whole number, 0 or more where no bound is given. */
export function integer(description = '', options: NumberOptions = {}): Shape<number> {
  return { kind: 'number', isWhole: true, min: 0, ...options, description }
}

export function choice<const Value extends string>(
  values: readonly Value[],
  description = '',
  options: { prefix?: string } = {},
): ChoiceShape<Value> {
  return { kind: 'choice', values, description, ...options }
}

export function list<Value>(items: Shape<Value>, description = ''): Shape<Value[]> {
  return { kind: 'list', items, description }
}

/** An object with names of somebody's own; `namePattern` is what such a name must match. */
export function record<Value>(
  values: Shape<Value>,
  description = '',
  namePattern: RegExp | null = null,
): Shape<Record<string, Value>> {
  return { kind: 'record', values, namePattern, description }
}

/** An object that has all fields of `required`, and may have those of `optional`. */
export function object<const Required extends Fields, const Optional extends Fields = {}>(
  required: Required,
  optional?: Optional,
  { description = '', isOpen = false }: { description?: string; isOpen?: boolean } = {},
): ObjectShape<ObjectOf<Required, Optional>> {
  return { kind: 'object', required, optional: optional ?? {}, isOpen, description }
}

export function nullable<Value>(of: Shape<Value>): Shape<Value | null> {
  return { kind: 'nullable', of }
}

/** `wanted` says what the value may be, as in "must be true, false, or a list". */
export function either<const Of extends readonly Shape[]>(
  shapes: Of,
  wanted: string,
  description = '',
): Shape<Infer<Of[number]>> {
  return { kind: 'either', shapes, wanted, description }
}

/** Whatever JSON can hold. `Value` is a promise of the one who writes it, not a check. */
export function anything<Value = unknown>(description = ''): Shape<Value> {
  return { kind: 'anything', description }
}

/** The same shape with other words about it. */
export function describe<Of extends Shape>(of: Of, description: string): Of {
  return { ...of, description }
}

/** Some of a table of fields. */
export function pick<const Of extends Fields, const Name extends keyof Of & string>(
  fields: Of,
  names: readonly Name[],
): Pick<Of, Name> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as Pick<Of, Name>
}

/** An object as JSON has it, not a list and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

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
  const properties: Record<string, JsonSchema> = {}
  for (const [name, shape] of Object.entries({ ...required, ...optional })) {
    properties[toSnakeCase(name)] = jsonSchema(shape)
  }
  const names = Object.keys(required).map(toSnakeCase)
  return { type: 'object', properties, required: names, additionalProperties: isOpen }
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
      return defined({ type: 'string', minLength: mayBeEmpty ? undefined : 1, maxLength })
    }
    case 'boolean':
      return { type: 'boolean' }
    case 'number': {
      const { isWhole, min, above, max } = shape
      const type = isWhole ? 'integer' : 'number'
      return defined({ type, minimum: min, exclusiveMinimum: above, maximum: max })
    }
    case 'choice':
      return { type: 'string', enum: shape.values }
    case 'list':
      return { type: 'array', items: jsonSchema(shape.items) }
    case 'record': {
      const { values, namePattern } = shape
      const propertyNames = namePattern === null ? undefined : { pattern: namePattern.source }
      return defined({ type: 'object', additionalProperties: jsonSchema(values), propertyNames })
    }
    case 'object':
      return objectSchema(shape)
    case 'nullable':
      return { anyOf: [jsonSchema(shape.of), { type: 'null' }] }
    case 'either':
      return { anyOf: shape.shapes.map(jsonSchema) }
    case 'anything':
      return {}
  }
}

/** Without the fields that are undefined, so that two schemas compare by what they say. */
function defined(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined))
}
