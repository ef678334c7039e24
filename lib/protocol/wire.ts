import manifest from '../../package.json' with { type: 'json' }
import { closest, distance } from 'fastest-levenshtein'
import { MisuseError } from './errors.ts'

/** `timeoutSeconds` → `timeout_seconds`: names on every wire are snake_case. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** Values whose keys are somebody's own names, never ours to change. */
const opaqueNames = [
  'env',
  'inputSchema',
  'details',
  'arguments',
  'input',
  'data',
  'opaque',
] as const
const opaque: ReadonlySet<string> = new Set(opaqueNames)

/** `timeoutSeconds` → `timeout_seconds`, as a type. */
type SnakeCase<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? Letter extends Lowercase<Letter>
    ? `${Letter}${SnakeCase<Rest>}`
    : `_${Lowercase<Letter>}${SnakeCase<Rest>}`
  : Name

/** What `toWire` makes of a value of this type. */
export type Wire<Value> = Value extends readonly unknown[]
  ? { [Index in keyof Value]: Wire<Value[Index]> }
  : Value extends object
    ? {
        [
          Key in keyof Value as Key extends string ? SnakeCase<Key> : never
        ]: Key extends (typeof opaqueNames)[number] ? Value[Key] : Wire<Value[Key]>
      }
    : Value

/** A value of ours as it goes over a wire. */
export function toWire(value: unknown): unknown {
  return convertNames(value, toSnakeCase)
}

/** An object from a wire as the code names it. */
export function fromWire(value: unknown): unknown {
  return convertNames(value, toCamelCase)
}

function convertNames(value: unknown, convert: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => convertNames(item, convert))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      convert(name),
      opaque.has(name) ? item : convertNames(item, convert),
    ]),
  )
}

/**
 * The known name that was probably meant, in capitals or not: one that goes on where the name ends
 * (`timeout_seconds`), or one within `tolerance` changed letters, never all of them. Null where there is none.
 */
export function nearestName(
  name: string,
  known: readonly string[],
  tolerance = Math.max(2, name.length / 3),
): string | null {
  const longer = known.find((other) => other.startsWith(`${name}_`))
  if (longer !== undefined) return longer
  const given = name.toLowerCase()
  const spelled = new Map(known.map((other) => [other.toLowerCase(), other]))
  const nearest = known.length > 0 ? closest(given, [...spelled.keys()]) : ''
  const isNear = distance(given, nearest) <= Math.min(tolerance, name.length - 1)
  return isNear ? (spelled.get(nearest) ?? null) : null
}

/** The hint of a message about an unknown name; nothing where no known one is near. */
export function didYouMean(name: string, known: readonly string[], quote = '`'): string {
  const nearest = nearestName(name, known)
  return nearest === null ? '' : `; did you mean ${quote}${nearest}${quote}?`
}

/** Misuse where a name is not one of those known; `field` is where it stands. */
export function unknownName(
  what: string,
  name: string,
  known: readonly string[],
  field = name,
): MisuseError {
  const message = `Unknown ${what} \`${name}\`${didYouMean(name, known)}`
  return new MisuseError(`unknown_${what}`, message, field)
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * A name that nothing else has: the prefix, `_`, and 20 characters of base 32. It is no secret, and
 * needs neither a descriptor nor `node:crypto`, which would cost every start 2 ms: the engine seeds
 * `Math.random` from the system's entropy in each process.
 */
export function createId(prefix: string): string {
  let id = `${prefix}_`
  for (let count = 0; count < 20; count++) id += alphabet[Math.floor(Math.random() * 32)]
  return id
}

/** What `createId` makes, for checking ids that come from outside. */
export const idPattern = /^[a-z]+_[a-z2-7]{20}$/

/** As in package.json; put in when the program is built. */
export const version: string = manifest.version
