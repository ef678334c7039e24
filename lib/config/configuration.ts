import { fields } from '../protocol/request/fields.ts'
import type { RequestDefaults } from '../protocol/request/request.ts'
import { toCamelCase } from '../protocol/wire.ts'
import { homedir } from 'node:os'
import { join, resolve, isAbsolute } from 'node:path'
import type { Said } from './said.ts'
import { findWorkspace } from '../system/look.ts'
import { MisuseError } from '../protocol/errors.ts'
import { existsSync, realpathSync } from 'node:fs'

/** What holds for a start of nacre before its flags: plain values, nothing left to read. */
export interface Configuration extends Said {
  /** Laid under the input of every request. */
  defaults: RequestDefaults
  /** `NACRE_NO_PTY=1`: no flag gets a terminal either. */
  neverTerminals: boolean
  /** Where files are looked for, in the order in which they are read. */
  candidates: readonly string[]
  /** The files that were read. */
  files: readonly string[]
}

/** The configuration of a nacre for which nothing is configured. */
export const nothingConfigured: Configuration = {
  ...{ entries: [], values: {}, notices: [], defaults: {} },
  ...{ neverTerminals: false, candidates: [], files: [] },
}

function readDefaults(values: Said['values']): RequestDefaults {
  const defaults: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(values)) {
    const field = toCamelCase(name)
    // The key `pty` is a choice (auto, on, off), and the field of that name is a boolean.
    if (field in fields && field !== 'pty') defaults[field] = value
  }
  if (values['guard.enabled'] !== undefined) defaults['guard'] = values['guard.enabled']
  return defaults
}

/** The variables of nacre that are no keys, and what each says. */
export const otherVariables: Readonly<Record<string, string>> = {
  NACRE_NO_PTY: 'Set it to 1, and no run gets a terminal, whatever asks for one',
  NACRE: 'Nacre sets it to 1 in every run, so that a script can tell',
  NACRE_RUN: 'Nacre sets it in every run, to find its processes again',
  NACRE_SESSION: 'Nacre sets it in the shell of a session, to find its processes again',
  NACRE_OWNER: 'Nacre sets it in every run: which nacre has started it',
}

export interface ConfigurationSource {
  environment: Readonly<Record<string, string | undefined>>
  /** The directory of nacre, absolute. */
  cwd: string
  /** The directory of the run, where the command line names one. */
  runCwd?: string | undefined
  /** The workspace, where the command line names one. */
  workspace?: string | undefined
}

/**
 * Reads the file of the user, then that of the workspace as far as it may, then the variables; what
 * comes later wins. Throws `MisuseError`: the place, then what is wrong with it. What is wrong in the
 * file of a workspace is a notice, since whoever works there may not have written it.
 */
export async function readConfiguration(source: ConfigurationSource): Promise<Configuration> {
  const { environment, cwd } = source
  const home = environment['HOME'] || homedir()
  const userFile = userConfigFile(environment)
  const workspace = source.workspace
    ? resolve(cwd, source.workspace)
    : findWorkspace(resolve(cwd, source.runCwd ?? '.'))
  const ownFile = join(workspace, '.nacre', 'config.json')
  const variables = listVariables(environment)
  const candidates = ownFile === userFile ? [userFile] : [userFile, ownFile]
  // A folder that cannot be searched is another user's, as after `su`: none of its files is this one's.
  const files = candidates.filter((file) => existsSync(file))
  const neverTerminals = !['', '0', 'false'].includes(environment['NACRE_NO_PTY'] ?? '')
  const found = { ...nothingConfigured, candidates, neverTerminals }
  if (files.length === 0 && variables.length === 0) return found
  const { readSaid } = await import('./said.ts')
  const { read, ...said } = await readSaid({ files, userFile, variables, cwd, home, workspace })
  return { ...found, ...said, files: read, defaults: readDefaults(said.values) }
}

/** The variables that may be keys. One that is set to nothing counts as not set. */
function listVariables(environment: ConfigurationSource['environment']): [string, string][] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('NACRE_') && !Object.hasOwn(otherVariables, name))
    .map((name): [string, string] => [name, environment[name] ?? ''])
    .filter(([, text]) => text !== '')
}

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
 * The directory as its user names it: `$PWD` where it is the same one, symbolic links and all, or where it was
 * removed. Throws `MisuseError` where nothing names it.
 */
export function logicalDirectory(environment: Environment): string {
  const { PWD: named = '' } = environment
  let physical: string
  try {
    physical = process.cwd()
  } catch {
    if (isAbsolute(named)) return named
    throw new MisuseError('cwd_not_found', 'The current directory was removed; change to another')
  }
  try {
    if (isAbsolute(named) && realpathSync(named) === physical) return named
  } catch {
    // $PWD names a directory that is gone.
  }
  return physical
}
