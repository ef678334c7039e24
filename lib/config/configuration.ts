import { fields } from '../protocol/request/fields.ts'
import type { ConfiguredProviders } from '../protocol/configuration.ts'
import type { RequestDefaults, TimeMode } from '../protocol/request/request.ts'
import { toCamelCase } from '../protocol/wire.ts'
import type { UserRule } from '../protocol/user-rule.ts'

/** One key with its value, checked, and the place where it was said. */
export interface Entry {
  /** `sandbox`, `timeouts.slow`. */
  name: string
  value: unknown
  /** `/home/me/.config/nacre/config.json:3`, or the name of a variable. */
  place: string
}

/** What holds for a start of nacre before its flags: plain values, nothing left to read. */
export interface Configuration {
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
  /** How the line of the REPL is edited. */
  keys: 'emacs' | 'vi'
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
  /** What was said of each key and may be, in the order in which it wins. */
  entries: readonly Entry[]
  /** What holds of it, by key. */
  values: ReadonlyMap<string, unknown>
  /** What was ignored, and why: short sentences for the reader. */
  notices: readonly string[]
}

/** A program with its arguments, split at white space where it is one text. */
function splitWords(words: string | string[]): string[] {
  return typeof words === 'string' ? words.split(/\s+/).filter(Boolean) : words
}

type Values = ReadonlyMap<string, unknown>

/** What files and variables say, as far as each may. */
export type Said = Pick<Configuration, 'entries' | 'values' | 'notices'>

/** Makes one configuration of what is said, which is nothing where `said` is left out. */
export function assemble(
  rest: Pick<Configuration, 'files' | 'candidates' | 'neverTerminals'>,
  { entries, values, notices }: Said = { entries: [], values: new Map(), notices: [] },
): Configuration {
  const get = <T>(name: string, fallback: T): T => (values.get(name) ?? fallback) as T
  const sandbox = values.get('sandbox')
  return {
    defaults: readDefaults(values),
    sandboxMayFallBack: sandbox === 'auto',
    writableFolders: get('writable_folders', []),
    hiddenPaths: get('hidden_paths', []),
    timeoutSeconds: readGroup(values, 'timeouts'),
    terminals: get('pty', 'auto'),
    prefix: splitWords(get<string | string[]>('prefix', [])),
    guardRules: get('guard.rules', []),
    guardDefault: get('guard.default', 'allow'),
    suggestTool: get('guard.suggest_tool', false),
    artifactLimits: readGroup(values, 'artifacts'),
    artifactDir: get('artifact_dir', null),
    outputFormat: get('output_format', 'text'),
    keys: get('keys', 'emacs'),
    model: get('model', null),
    providers: get('providers', {}),
    hosts: get('hosts', {}),
    agentHosts: get('agent_hosts', []),
    entries,
    values,
    notices,
    ...rest,
  }
}

function readDefaults(values: Values): RequestDefaults {
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

function readGroup(values: Values, group: string): Record<string, number> {
  const prefix = `${group}.`
  const found = [...values].filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(
    found.map(([name, value]) => [toCamelCase(name.slice(prefix.length)), Number(value)]),
  )
}
