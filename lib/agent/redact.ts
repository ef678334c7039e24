import type { Environment } from './models/providers.ts'

/** A shorter value is no key, and might stand in any text. */
const shortestKey = 8

/** Takes the values of these variables out of a text: they are written nowhere. */
export function redactKeys(
  variables: readonly string[],
  environment: Environment,
): (text: string) => string {
  const values = [...new Set(variables)].flatMap((name): [string, string][] => {
    const value = environment[name] ?? ''
    return value.length < shortestKey ? [] : [[name, value]]
  })
  return (text) =>
    values.reduce((rest, [name, value]) => rest.replaceAll(value, `[value of ${name}]`), text)
}
