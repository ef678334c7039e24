type Schema = Readonly<Record<string, unknown>>

/**
 * What is wrong with a value by a JSON Schema, each with its place: the keywords that nacre's schemas
 * use, and a fault for any other.
 */
export function check(value: unknown, schema: Schema | undefined, at = '$'): string[] {
  if (schema === undefined) return [`${at}: there is no schema`]
  return Object.entries(schema).flatMap(([keyword, wanted]) =>
    checkKeyword(keyword, wanted, value, schema, at),
  )
}

function checkKeyword(
  keyword: string,
  wanted: unknown,
  value: unknown,
  schema: Schema,
  at: string,
): string[] {
  const fault = (isWrong: boolean) =>
    isWrong ? [`${at}: ${keyword} ${JSON.stringify(wanted)}`] : []
  const isObject = value !== null && typeof value === 'object' && !Array.isArray(value)
  const given = isObject ? (value as Record<string, unknown>) : {}
  switch (keyword) {
    case 'type':
      return fault(![wanted].flat().includes(typeOf(value)) && !isInteger(value, wanted))
    case 'enum':
      return fault(!(wanted as unknown[]).includes(value))
    case 'exclusiveMinimum':
      return fault(typeof value === 'number' && value <= (wanted as number))
    case 'pattern':
      return fault(typeof value === 'string' && !new RegExp(String(wanted)).test(value))
    case 'propertyNames':
      return Object.keys(given).flatMap((name) => check(name, wanted as Schema, `${at} ${name}`))
    case 'minimum':
      return fault(typeof value === 'number' && value < (wanted as number))
    case 'minLength':
      return fault(typeof value === 'string' && value.length < (wanted as number))
    case '$schema':
    case 'title':
    case 'description':
      return fault(typeof wanted !== 'string')
    case 'prefixItems':
      return (wanted as Schema[]).flatMap((one, index) =>
        check((value as unknown[])[index], one, `${at}[${index}]`),
      )
    case 'minItems':
      return fault(Array.isArray(value) && value.length < (wanted as number))
    case 'maxItems':
      return fault(Array.isArray(value) && value.length > (wanted as number))
    case 'maxLength':
      return fault(typeof value === 'string' && value.length > (wanted as number))
    case 'required':
      return fault(isObject && (wanted as string[]).some((name) => !(name in given)))
    case 'properties':
      return Object.entries(wanted as Record<string, Schema>).flatMap(([name, of]) =>
        name in given ? check(given[name], of, `${at}.${name}`) : [],
      )
    case 'additionalProperties':
      return Object.keys(given)
        .filter((name) => !(name in Object(schema['properties'] ?? {})))
        .flatMap((name) => {
          if (typeof wanted === 'object')
            return check(given[name], wanted as Schema, `${at}.${name}`)
          return wanted === true ? [] : [`${at}.${name}: unknown`]
        })
    case 'items':
      return (Array.isArray(value) ? value : []).flatMap((item, index) =>
        check(item, wanted as Schema, `${at}[${index}]`),
      )
    case 'anyOf': {
      const faults = (wanted as Schema[]).map((one) => check(value, one, at))
      return faults.some((found) => found.length === 0) ? [] : (faults[0] ?? [])
    }
    default:
      return [`${at}: the keyword ${keyword} is not known here`]
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function isInteger(value: unknown, wanted: unknown): boolean {
  return wanted === 'integer' && Number.isInteger(value)
}
