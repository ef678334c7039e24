import { type FieldName, fieldNames, fields, type FieldType } from '../protocol/fields.ts'
import { toSnakeCase } from '../protocol/wire.ts'
import { atLeastAsStrict, onlyAdd, onlySwitchOn, type Restrict } from './restrict.ts'

/** What a key of the configuration may hold. */
export type KeyType =
  | FieldType
  /** A folder or file; `~/` is the home, relative ones begin where the file belongs. */
  | { kind: 'path' }
  | { kind: 'paths' }
  /** A program and its first arguments: a list, or a text that is split at white space. */
  | { kind: 'words' }
  /** Rules of the guard. */
  | { kind: 'rules' }
  /** True, false, or a tool for each kind of command. */
  | { kind: 'tools' }

/**
 * What the file of a workspace may say where its folder is not trusted:
 * everything (`free`), nothing (`trusted`), nothing even in a trusted folder (`user`), or what the
 * function permits.
 */
export type WorkspaceRight = 'free' | 'trusted' | 'user' | Restrict

/** One key, defined once: checks, messages, environment variables and trust are made from it. */
export interface Key {
  type: KeyType
  description: string
  workspace: WorkspaceRight
  /** The environment variable; null where the name means something else already. */
  variable: string | null
}

/** Fields of a request whose key is of another kind than the field. */
const otherTypes: Partial<Record<FieldName, KeyType>> = {
  cwd: { kind: 'path' },
  workspace: { kind: 'path' },
  pty: { kind: 'choice', values: ['auto', 'on', 'off'] },
  sandbox: { kind: 'choice', values: ['off', 'auto', 'workspace', 'read-only'] },
}

/** What may loosen the guard or the sandbox, or name a program. The rest is free. */
const fieldRights: Partial<Record<FieldName, WorkspaceRight>> = {
  env: 'trusted',
  shell: 'trusted',
  login: 'trusted',
  workspace: 'trusted',
  hardening: onlySwitchOn,
  sandbox: atLeastAsStrict(['off', 'auto', 'workspace', 'read-only']),
  network: atLeastAsStrict(['on', 'off']),
}

function fieldKey(name: FieldName): [string, Key] {
  const key = toSnakeCase(name)
  const { type, description } = fields[name]
  return [
    key,
    {
      type: otherTypes[name] ?? type,
      description,
      workspace: fieldRights[name] ?? 'free',
      // NACRE_SESSION marks the processes of a session.
      variable: name === 'session' ? null : variableOf(key),
    },
  ]
}

const seconds = { kind: 'number', above: 0 } as const
const count = { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER } as const

const otherKeys: Readonly<Record<string, Omit<Key, 'variable'>>> = {
  prefix: {
    type: { kind: 'words' },
    description: 'Put before the shell of every command of an agent: nix develop -c',
    workspace: 'trusted',
  },
  'timeouts.default': {
    type: seconds,
    description: 'Deadline where a run has one and none was asked for (default 30)',
    workspace: 'free',
  },
  'timeouts.slow': {
    type: seconds,
    description: 'The same with mode slow (default 900)',
    workspace: 'free',
  },
  'timeouts.background': {
    type: seconds,
    description: 'The same with mode background (default 86400)',
    workspace: 'free',
  },
  'guard.enabled': {
    type: { kind: 'boolean' },
    description: 'Ask the guard first (default true); `"guard": false` is the same',
    workspace: onlySwitchOn,
  },
  'guard.rules': {
    type: { kind: 'rules' },
    description: 'Rules of your own: [{ match, decision, reason, suggested_tool }]',
    workspace: 'free',
  },
  'guard.suggest_tool': {
    type: { kind: 'tools' },
    description: 'Send agents from commands to their own tools (default false)',
    workspace: onlyAdd,
  },
  'artifacts.artifact_bytes': {
    type: count,
    description: 'Most bytes of one artifact (default 256 MiB)',
    workspace: 'trusted',
  },
  'artifacts.store_bytes': {
    type: count,
    description: 'Most bytes of all artifacts, oldest removed first (default 2 GiB)',
    workspace: 'trusted',
  },
  'artifacts.age_days': {
    type: seconds,
    description: 'Artifacts are removed after so many days (default 14)',
    workspace: 'trusted',
  },
  artifact_dir: {
    type: { kind: 'path' },
    description: 'Folder of the artifacts (default: in the state folder)',
    workspace: 'trusted',
  },
  output_format: {
    type: { kind: 'choice', values: ['text', 'json', 'stream-json'] },
    description: 'How print answers (default text)',
    workspace: 'free',
  },
  writable_folders: {
    type: { kind: 'paths' },
    description: 'What a run in the sandbox may write beside its workspace',
    workspace: 'trusted',
  },
  hidden_paths: {
    type: { kind: 'paths' },
    description: 'What no run in the sandbox may see beside known secrets',
    workspace: 'free',
  },
  model: {
    type: { kind: 'string', hint: 'provider/name' },
    description: 'Which model answers prompts',
    workspace: 'trusted',
  },
  trusted_folders: {
    type: { kind: 'paths' },
    description: 'Workspaces, and folders of workspaces, whose own file may set everything',
    workspace: 'user',
  },
}

/** Every key by its name, `group.key` for those within a group. */
export const keys: ReadonlyMap<string, Key> = new Map([
  ...fieldNames.filter((name) => name !== 'guard').map(fieldKey),
  ...Object.entries(otherKeys).map(([name, key]): [string, Key] => [
    name,
    { ...key, variable: variableOf(name) },
  ]),
])

/** The groups: `timeouts`, `guard`, `artifacts`. */
export const groups: ReadonlySet<string> = new Set(
  [...keys.keys()].filter((name) => name.includes('.')).map((name) => name.split('.')[0] ?? ''),
)

function variableOf(key: string): string {
  return `NACRE_${key.toUpperCase().replaceAll('.', '_')}`
}
