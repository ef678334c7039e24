import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { MisuseError } from '../protocol/errors.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** `$XDG_STATE_HOME/nacre`: artifacts, jobs, history, audit (XDG Base Directory Specification). */
export function stateDirectory(environment: Environment): string {
  return join(baseDirectory(environment, 'XDG_STATE_HOME', '.local/state'), 'nacre')
}

/** The file with the user's configuration: `$XDG_CONFIG_HOME/nacre/config.json`. */
export function userConfigFile(environment: Environment): string {
  return join(baseDirectory(environment, 'XDG_CONFIG_HOME', '.config'), 'nacre', 'config.json')
}

function baseDirectory(environment: Environment, variable: string, fallback: string): string {
  const named = environment[variable]
  // The XDG base directory specification wants a relative path to be ignored.
  if (named && isAbsolute(named)) return named
  return join(environment['HOME'] || homedir(), fallback)
}

/**
 * The directory as its user names it: `$PWD` where it is the same one, symbolic links and all.
 * Throws `MisuseError` where it was removed.
 */
export function logicalDirectory(environment: Environment): string {
  const physical = physicalDirectory()
  const named = environment['PWD']
  try {
    if (named && isAbsolute(named) && realpathSync(named) === physical) return named
  } catch {
    // $PWD names a directory that is gone.
  }
  return physical
}

function physicalDirectory(): string {
  try {
    return process.cwd()
  } catch {
    throw new MisuseError('cwd_not_found', 'The current directory was removed; change to another')
  }
}
