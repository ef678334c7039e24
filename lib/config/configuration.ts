import { fields } from '../protocol/request/fields.ts'
import type { ConfiguredProviders } from '../protocol/configuration.ts'
import type { UserRule } from '../protocol/rules.ts'
import type { RequestDefaults, TimeMode } from '../protocol/request/request.ts'
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
  /** `sandbox: auto`: a run may go on without protection where there is none to be had. */
  sandboxMayFallBack: boolean
  /** Absolute paths that a sandboxed run may write beside its workspace. */
  writableFolders: readonly string[]
  hiddenPaths: readonly string[]
  /** Deadlines by mode, in seconds, where they are not the usual ones. */
  timeoutSeconds: Partial<Record<TimeMode, number>>
  terminals: 'auto' | 'on' | 'off'
  /** `NACRE_NO_PTY=1`: no flag gets a terminal either. */
  neverTerminals: boolean
  /** Before the shell of an agent's command: a program and its arguments. */
  prefix: readonly string[]
  guardRules: readonly UserRule[]
  /** What becomes of a command that no rule of the user allows. */
  guardDefault: 'allow' | 'ask' | 'deny'
  /** Whether to send agents to their own tools, or to which. */
  suggestTool: boolean | Readonly<Record<string, string>>
  artifactLimits: { artifactBytes?: number; storeBytes?: number; ageDays?: number }
  /** Null: in the folder of the state. */
  artifactDir: string | null
  /** How print answers. */
  outputFormat: 'text' | 'json' | 'stream-json'
  /** `provider/name`, or null. */
  model: string | null
  /** Providers of models beside the known ones. */
  providers: ConfiguredProviders
  /** Addresses of other machines by their names. */
  hosts: Readonly<Record<string, string>>
  /** Those of them, or addresses, on which a model may run commands. */
  agentHosts: readonly string[]
  /** Where files are looked for, in the order in which they are read. */
  candidates: readonly string[]
  /** The files that were read. */
  files: readonly string[]
}

/** Makes one configuration of what is said, which is nothing where `said` is left out. */
export function assemble(
  rest: Pick<Configuration, 'files' | 'candidates' | 'neverTerminals'>,
  said: Said = { entries: [], values: new Map(), notices: [] },
): Configuration {
  const { values } = said
  const get = <T>(name: string, fallback: T): T => (values.get(name) ?? fallback) as T
  const sandbox = values.get('sandbox')
  // One text is a program with its arguments.
  const prefix = get<string | string[]>('prefix', [])
  return {
    defaults: readDefaults(values),
    sandboxMayFallBack: sandbox === 'auto',
    writableFolders: get('writable_folders', []),
    hiddenPaths: get('hidden_paths', []),
    timeoutSeconds: readGroup(values, 'timeouts'),
    terminals: get('pty', 'auto'),
    prefix: typeof prefix === 'string' ? prefix.split(/\s+/).filter(Boolean) : prefix,
    guardRules: get('guard.rules', []),
    guardDefault: get('guard.default', 'allow'),
    suggestTool: get('guard.suggest_tool', false),
    artifactLimits: readGroup(values, 'artifacts'),
    artifactDir: get('artifact_dir', null),
    outputFormat: get('output_format', 'text'),
    model: get('model', null),
    providers: get('providers', {}),
    hosts: get('hosts', {}),
    agentHosts: get('agent_hosts', []),
    ...said,
    ...rest,
  }
}

function readDefaults(values: Said['values']): RequestDefaults {
  const defaults: Record<string, unknown> = {}
  for (const [name, value] of values) {
    const field = toCamelCase(name)
    // The key `pty` is a choice (auto, on, off), and the field of that name is a boolean.
    if (field in fields && field !== 'pty') defaults[field] = value
  }
  if (defaults['sandbox'] === 'auto') defaults['sandbox'] = 'workspace'
  if (values.has('guard.enabled')) defaults['guard'] = values.get('guard.enabled')
  return defaults
}

function readGroup(values: Said['values'], group: string): Record<string, number> {
  const prefix = `${group}.`
  const found = [...values].filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(
    found.map(([name, value]) => [toCamelCase(name.slice(prefix.length)), Number(value)]),
  )
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
  if (files.length === 0 && variables.length === 0) {
    return assemble({ files, candidates, neverTerminals })
  }
  const { readSaid } = await import('./said.ts')
  const { read, ...said } = await readSaid({ files, userFile, variables, cwd, home, workspace })
  return assemble({ files: read, candidates, neverTerminals }, said)
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
