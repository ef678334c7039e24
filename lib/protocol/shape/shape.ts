import { toSnakeCase } from '../wire.ts'

/**
 * Shapes: what a value that crosses a border of nacre may be. Each is declared once, as a JSON Schema in
 * the names of the code, and everything else is made of it: its TypeScript type (`Infer`), its check
 * (`check.ts`), the schema that others read, the options of the command line, the keys of the
 * configuration, help, completions and reference.
 *
 *     const size = shape.object({ columns: shape.integer('Width', { minimum: 20 }) }, { rows: … })
 *     type Size = Infer<typeof size> // { columns: number; rows?: … }
 */

/** What values of the type `Value` may be, by the keywords of JSON Schema (2020-12) that are used here. */
export interface Shape<Value = unknown> {
  /** Absent: whatever JSON can hold, or as `anyOf` says. */
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null'
  /** One line for help, schemas and references. */
  readonly description?: string
  readonly enum?: readonly string[]
  /** A text that must not be empty holds no NUL either. */
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly items?: Shape
  /** Absent from a record: an object whose names are free, such as those of variables. */
  readonly properties?: Fields
  readonly required?: readonly string[]
  /** Of an object whether fields that are not known here are passed by; of a record what its values are. */
  readonly additionalProperties?: boolean | Shape
  readonly propertyNames?: Shape
  /** They differ in their types. */
  readonly anyOf?: readonly Shape[]

  /** What the value is called in help: `name`. `dir` and `path` name places of the file system. */
  readonly hint?: string
  /** What the value must be, in words; absent: as the keywords say. */
  readonly wanted?: string
  /** May stand before each value of `enum` and changes nothing: `SIG`. */
  readonly prefix?: string
  /** `seconds`: a duration such as `5m` is accepted too. */
  readonly unit?: 'seconds'
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
export interface ObjectShape<Value = unknown> extends Shape<Value> {
  readonly properties: Fields
  readonly required: readonly string[]
}

/** A shape of words that can be listed. */
export interface Choice<Value extends string> extends Shape<Value> {
  readonly enum: readonly Value[]
}

/** What a shape may say beside its type. */
type More = Omit<Shape, 'type' | '~value'>

/** A text that is not empty and holds no NUL. */
export function text(description = '', more: More = {}): Shape<string> {
  return { type: 'string', minLength: 1, description, ...more }
}

/** Any text, also an empty one. */
export function anyText(description = '', more: More = {}): Shape<string> {
  return { type: 'string', description, ...more }
}

export function boolean(description = ''): Shape<boolean> {
  return { type: 'boolean', description }
}

/** A number: any that is finite, within the bounds that are given. */
export function number(description = '', more: More = {}): Shape<number> {
  return { type: 'number', description, ...more }
}

/** A time, 0 or more where no bound is given. */
export function seconds(description = '', more: More = { minimum: 0 }): Shape<number> {
  return number(description, { ...more, unit: 'seconds' })
}

/** A whole number, 0 or more where no bound is given. */
export function integer(description = '', more: More = {}): Shape<number> {
  return { type: 'integer', description, minimum: 0, ...more }
}

export function choice<const Value extends string>(
  values: readonly Value[],
  description = '',
  more: Omit<More, 'enum'> = {},
): Choice<Value> {
  return { type: 'string', enum: values, description, ...more }
}

export function list<Value>(items: Shape<Value>, description = ''): Shape<Value[]> {
  return { type: 'array', items, description }
}

/** An object whose names are free, such as those of variables. */
export function record<Value>(
  values: Shape<Value>,
  description = '',
  more: More = {},
): Shape<Record<string, Value>> {
  return { type: 'object', additionalProperties: values, description, ...more }
}

/** An object that has all fields of `required`, and may have those of `optional`. */
export function object<const Required extends Fields, const Optional extends Fields = {}>(
  required: Required,
  optional?: Optional,
  more: More = {},
): ObjectShape<ObjectOf<Required, Optional>> {
  const properties = { ...required, ...optional }
  const names = Object.keys(required)
  return { type: 'object', additionalProperties: false, ...more, properties, required: names }
}

export const none: Shape<null> = { type: 'null' }

export function nullable<Value>(of: Shape<Value>): Shape<Value | null> {
  return { anyOf: [of, none] }
}

/** `wanted` says what the value may be, as in "must be true, false, or a list". */
export function either<const Of extends readonly Shape[]>(
  anyOf: Of,
  wanted: string,
  description = '',
): Shape<Infer<Of[number]>> {
  return { anyOf, wanted, description }
}

/** Whatever JSON can hold. `Value` is a promise of the one who writes it, not a check. */
export function anything<Value = unknown>(description = ''): Shape<Value> {
  return { description }
}

/** Some of the fields of an object or a table, as far as they are there. */
export function pick<Of extends object, const Name extends keyof Of>(
  of: Of,
  names: readonly Name[],
): Pick<Of, Name> {
  const there = names.filter((name) => name in of)
  return Object.fromEntries(there.map((name) => [name, of[name]])) as Pick<Of, Name>
}

/** An object as JSON has it, not a list and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

/** A whole number or any other. */
export const isNumber = ({ type }: Shape): boolean => type === 'number' || type === 'integer'

/** Whether its values name places of the file system. */
export const isPath = ({ hint }: Shape): boolean => hint === 'dir' || hint === 'path'

/** A JSON Schema in the names of the wire. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A JSON Schema of an object, as messages and tools need one. */
export type ObjectSchema = {
  type: 'object'
  properties: Record<string, JsonSchema>
  required: string[]
  additionalProperties: boolean
}

/** The schema that others read: without what is for help and messages of nacre alone. */
export function jsonSchema(shape: ObjectShape): ObjectSchema
export function jsonSchema(shape: Shape): JsonSchema
export function jsonSchema(shape: Shape): JsonSchema {
  const schema: Record<string, unknown> = {}
  for (const [keyword, said] of Object.entries(shape)) {
    const written = writeKeyword(keyword, said)
    if (written !== undefined && written !== '') schema[keyword] = written
  }
  return schema
}

function writeKeyword(keyword: string, said: unknown): unknown {
  switch (keyword) {
    case 'hint':
    case 'wanted':
    case 'prefix':
    case 'unit':
      return undefined
    case 'properties':
      return Object.fromEntries(
        Object.entries(said as Fields).map(([name, of]) => [toSnakeCase(name), jsonSchema(of)]),
      )
    case 'required':
      return (said as string[]).map(toSnakeCase)
    case 'anyOf':
      return (said as Shape[]).map((of) => jsonSchema(of))
    default:
      // A shape is what `items` says, and `additionalProperties` of a record.
      return isObject(said) ? jsonSchema(said) : said
  }
}
