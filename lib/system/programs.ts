import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** Where a program of the system is looked for: nowhere that a request's environment could change. */
export const systemPath = '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin'

/** The absolute path of an executable file, looked up as execvp(3) does; null where there is none. */
export function findProgram(name: string, path: string): string | null {
  const candidates = name.includes('/')
    ? [resolve(name)]
    : path.split(delimiter).map((directory) => join(directory || '.', name))
  for (const candidate of candidates) {
    try {
      // An exception for each directory that has none would take longer than everything else.
      if (!statSync(candidate, { throwIfNoEntry: false })?.isFile()) continue
      accessSync(candidate, constants.X_OK)
      return isAbsolute(candidate) ? candidate : resolve(candidate)
    } catch {
      // It is not here: the next directory of the path follows.
    }
  }
  return null
}
