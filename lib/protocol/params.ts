import { checkValue, invalid, isObject, type ValueType } from './check-value.ts'
import { MisuseError } from './errors.ts'
import { fields } from './fields.ts'
import type { RequestInput } from './request.ts'
import { toSnakeCase, unknownName } from './wire.ts'

/** One parameter of a method or a tool. */
export interface Param {
  type: ValueType
  /** One line for schemas. */
  description: string
  required?: boolean
}

/** Parameters by their name in the code; on the wire they are snake_case. */
export type Params = Readonly<Record<string, Param>>

/** The command of a run, which no table of options holds. */
export const commandParam: Param = {
  type: { kind: 'string', hint: 'command' },
  description: 'The command line, as a shell reads it',
  required: true,
}

/** Fields of a request as parameters, with their types and descriptions. */
export function fieldParams(names: readonly (keyof typeof fields)[]): Params {
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}

/**
 * A checker for one table, prepared once: takes what came over the wire, gives it back in the names
 * of the code. Throws `MisuseError`, which names the parameter as it is written on the wire.
 */
export function createParamCheck(params: Params): (given: unknown) => Record<string, unknown> {
  const byWireName = new Map(
    Object.entries(params).map(([name, param]) => [toSnakeCase(name), { name, ...param }]),
  )
  const required = [...byWireName].filter(([, param]) => param.required)

  return (given) => {
    const checked: Record<string, unknown> = {}
    if (given !== undefined) {
      if (!isObject(given)) throw invalid('params', 'an object', given)
      for (const wireName of Object.keys(given)) {
        const param = byWireName.get(wireName)
        if (param === undefined) throw unknownName('field', wireName, [...byWireName.keys()])
        const value = given[wireName]
        checkValue(wireName, value, param.type)
        checked[param.name] = value
      }
    }
    for (const [wireName, { name }] of required) {
      if (name in checked) continue
      throw new MisuseError('missing_field', `\`${wireName}\` is missing`, wireName)
    }
    return checked
  }
}

/** What a checked table of run fields holds. */
export type RunParams = Partial<Omit<RequestInput, 'origin' | 'stdin'>>
