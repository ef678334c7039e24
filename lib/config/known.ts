import { invalid } from '../protocol/check-value.ts'
import { MisuseError } from '../protocol/errors.ts'
import { nearestName } from '../protocol/wire.ts'

/** Misuse of a key that is not there, with the nearest one that is. `path` is where it stands. */
export function unknownKey(path: string, name: string, known: readonly string[]): MisuseError {
  const nearest = nearestName(name, known)
  const hint =
    nearest === null ? `; the keys are ${known.join(', ')}` : `; did you mean \`${nearest}\`?`
  return new MisuseError('unknown_key', `Unknown key \`${name}\`${hint}`, path)
}

/** Throws where a value is not one of those known, with the one that was probably meant. */
export function checkChoice(path: string, value: unknown, values: readonly string[]): void {
  if (values.includes(value as string)) return
  const nearest = typeof value === 'string' ? nearestName(value, values) : null
  const { code, message } = invalid(path, `one of ${values.join(', ')}`, value)
  const hint = nearest === null ? '' : `; did you mean "${nearest}"?`
  throw new MisuseError(code, message + hint, path)
}
