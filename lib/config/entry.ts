import { MisuseError } from '../protocol/errors.ts'

/** One key with its value, checked, and the place where it was said. */
export interface Entry {
  /** `sandbox`, `timeouts.slow`. */
  name: string
  value: unknown
  /** `/home/me/.config/nacre/config.json:3`, or the name of a variable. */
  place: string
}

/** Everything that is wrong in a configuration is misuse: the place, then one sentence. */
export function wrongConfiguration(place: string, message: string): MisuseError {
  return new MisuseError('invalid_configuration', `${place}: ${message}`)
}
