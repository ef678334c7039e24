import { resolve } from 'node:path'
import { MisuseError } from '../protocol/errors.ts'
import { parseHostAddress } from '../protocol/request/host-address.ts'
import { checkWritten } from '../protocol/shape/check.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { expandHome } from '../protocol/words.ts'

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

/** Where paths of a configuration begin. Both absolute. */
export interface Folders {
  /** Relative paths begin here. */
  base: string
  /** What `~` stands for. */
  home: string
}

/**
 * Checks the value of a key and makes its paths absolute. Throws `MisuseError`, whose `field` is the
 * path of what is wrong: `guard.rules[0].decision`.
 */
export function readKeyValue(
  name: string,
  value: unknown,
  shape: Shape,
  folders: Folders,
): unknown {
  const checked = checkWritten(shape, value, name, { names: 'wire', called: 'key' })
  if (name === 'hosts') {
    for (const [host, address] of Object.entries(checked as Record<string, string>)) {
      parseHostAddress(address, `hosts.${host}`)
    }
  }
  return completePaths(checked, shape, folders)
}

function completePaths(value: unknown, shape: Shape, folders: Folders): unknown {
  if (shape.kind === 'list' && Array.isArray(value)) {
    return value.map((item) => completePaths(item, shape.items, folders))
  }
  const isPath = shape.kind === 'text' && (shape.hint === 'dir' || shape.hint === 'path')
  return isPath ? resolve(folders.base, expandHome(String(value), folders.home)) : value
}
