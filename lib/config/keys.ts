import * as shape from '../protocol/shape/shape.ts'
import { type FieldName, fieldNames, fields } from '../protocol/request/fields.ts'
import { configuredProviderShape, type ConfiguredKey } from '../protocol/configuration.ts'
import { userRuleShape } from '../protocol/rules.ts'
import { toSnakeCase, toWire, unknownName } from '../protocol/wire.ts'
import { isBelow } from '../system/look.ts'
import {
  type JsonSchema,
  jsonSchema,
  type ObjectSchema,
  type Shape,
} from '../protocol/shape/shape.ts'
import { wantedWritten } from '../protocol/shape/check.ts'

/**
 * What the file of a workspace nobody trusted may say of a key: each function gives the value where
 * it tightens what holds without it (`current`; undefined: the default), else undefined.
 */
type Restrict = (value: unknown, current: unknown, workspace: string) => unknown

/** A folder has to be the workspace or one below it, wherever links lead. */
const staysBelow: Restrict = (value, _, workspace) =>
  isBelow(String(value), workspace) ? value : undefined

/** Each value adds to what is hidden, denied or asked. */
const onlyTightens: Restrict = (value) => value

/** Something that is on by default may be switched on only. */
const onlySwitchOn: Restrict = (value) => (value === true ? value : undefined)

/** Of values in an order from loose, the default, to strict, one that is at least as strict is allowed. */
function atLeastAsStrict(order: readonly string[]): Restrict {
  const rank = (value: unknown): number => Math.max(0, order.indexOf(String(value)))
  return (value, current) => (rank(value) >= rank(current) ? value : undefined)
}

/** Something that is off by default may be switched on, and be left as it is. */
const onlyAdd: Restrict = (value, current) => (value !== false || !current ? value : undefined)

/**
 * What the file of a workspace may say where its folder is not trusted:
 * nothing (`trusted`), nothing even in a trusted folder (`user`), or what the function permits.
 */
export type WorkspaceRight = 'trusted' | 'user' | Restrict

/** One key, defined once: checks, messages, environment variables and trust are made from it. */
export interface Key {
  /** What the value may be; its description is that of the key. */
  shape: shape.Shape
  workspace: WorkspaceRight
  /** A value of a later place is added to that of an earlier one and does not replace it. */
  addsUp?: boolean
  /** The environment variable; null where the name means something else already. */
  variable: string | null
}

/** Fields of a request whose key is of another kind than the field. */
const otherShapes: Partial<Record<FieldName, shape.Shape>> = {
  pty: shape.choice(['auto', 'on', 'off'], 'Whether runs get a terminal (default auto: if asked)'),
  sandbox: shape.choice(
    ['off', 'auto', 'workspace', 'read-only'],
    'What the system lets commands write; auto: workspace, where the system can',
  ),
}

/** All that a workspace may say without trust: a repository does not change what commands do. */
const fieldRights: Partial<Record<FieldName, Restrict>> = {
  cwd: staysBelow,
  sandbox: atLeastAsStrict(['off', 'auto', 'workspace', 'read-only']),
  network: atLeastAsStrict(['on', 'off']),
}

function fieldKey(name: FieldName): [string, Key] {
  const key = toSnakeCase(name)
  return [
    key,
    {
      shape: otherShapes[name] ?? fields[name],
      workspace: fieldRights[name] ?? 'trusted',
      addsUp: name === 'env',
      // NACRE_SESSION marks the processes of a session.
      variable: name === 'session' ? null : variableOf(key),
    },
  ]
}

const paths = (description: string) => shape.list(shape.text('', { hint: 'path' }), description)
const deadline = (description: string) => shape.number(description, { above: 0, unit: 'seconds' })
const amount = (description: string) => shape.integer(description, { min: 1, unit: 'bytes' })

const tool = shape.text('', { hint: 'tool' })

const otherKeys: Readonly<Record<string, Omit<Key, 'variable'>>> = {
  prefix: {
    shape: shape.either(
      [shape.text(), shape.list(shape.text())],
      'a program with its arguments, as a text or a list of texts',
      'Put before the shell of every command of an agent: nix develop -c',
    ),
    workspace: 'trusted',
  },
  'timeouts.default': {
    shape: deadline('Deadline where a run has one and none was asked for (default 30)'),
    workspace: 'trusted',
  },
  'timeouts.slow': {
    shape: deadline('The same with mode slow (default 900)'),
    workspace: 'trusted',
  },
  'timeouts.background': {
    shape: deadline('The same with mode background (default 86400)'),
    workspace: 'trusted',
  },
  'guard.enabled': {
    shape: shape.boolean('Ask the guard first (default true); `"guard": false` is the same'),
    workspace: onlySwitchOn,
  },
  'guard.rules': {
    shape: shape.list(
      userRuleShape,
      'Rules of your own: [{ match, not_match, decision, reason, suggested_tool, lifts, examples }]',
    ),
    addsUp: true,
    workspace: onlyTightens,
  },
  'guard.default': {
    shape: shape.choice(
      ['allow', 'ask', 'deny'],
      'What becomes of a command that no rule of yours names (default allow)',
    ),
    workspace: atLeastAsStrict(['allow', 'ask', 'deny']),
  },
  'guard.suggest_tool': {
    shape: shape.either(
      [
        shape.boolean(),
        shape.object({}, { read: tool, search: tool, find: tool, edit: tool, write: tool }),
      ],
      'true, false, or a tool for each kind',
      'Send agents from commands to their own tools (default false)',
    ),
    workspace: onlyAdd,
  },
  'artifacts.artifact_bytes': {
    shape: amount('Most bytes of one artifact (default 256 MiB)'),
    workspace: 'trusted',
  },
  'artifacts.store_bytes': {
    shape: amount('Most bytes of all artifacts, oldest removed first (default 2 GiB)'),
    workspace: 'trusted',
  },
  'artifacts.age_days': {
    shape: shape.number('Artifacts are removed after so many days (default 14)', {
      above: 0,
      unit: 'days',
    }),
    workspace: 'trusted',
  },
  artifact_dir: {
    shape: shape.text('Folder of the artifacts (default: in the state folder)', { hint: 'dir' }),
    workspace: 'trusted',
  },
  output_format: {
    shape: shape.choice(['text', 'json', 'stream-json'], 'How print answers (default text)'),
    workspace: 'trusted',
  },
  writable_folders: {
    shape: paths('What a run in the sandbox may write beside its workspace'),
    workspace: 'trusted',
  },
  hidden_paths: {
    shape: paths('What no run in the sandbox may see beside known secrets'),
    addsUp: true,
    workspace: onlyTightens,
  },
  model: {
    shape: shape.text('Which model answers prompts', { hint: 'provider/name' }),
    workspace: 'trusted',
  },
  providers: {
    shape: shape.record(
      configuredProviderShape,
      'More providers of models by name: { api, base_url, key_env }',
    ),
    addsUp: true,
    workspace: 'trusted',
  },
  hosts: {
    shape: shape.record(
      shape.text('', { hint: 'host' }),
      'Other machines by name: { "build": "ssh://me@build.example" }',
    ),
    addsUp: true,
    workspace: 'trusted',
  },
  agent_hosts: {
    shape: shape.list(
      shape.text('', { hint: 'host' }),
      'Hosts on which a model may run commands, in a sandbox where nacre is installed there (default none)',
    ),
    workspace: 'trusted',
  },
  trusted_folders: {
    shape: paths('Workspaces, and folders of workspaces, whose own file may set everything'),
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

/** One key with its value, checked, and the place where it was said. */
export interface Entry {
  /** `sandbox`, `timeouts.slow`. */
  name: string
  value: unknown
  /** `/home/me/.config/nacre/config.json:3`, or the name of a variable. */
  place: string
}

/** Every key with what the entries say of it, in the order in which they win. */
export function reportKeys(
  entries: readonly Entry[],
  values: ReadonlyMap<string, unknown>,
): ConfiguredKey[] {
  return [...keys].map(([key, { shape, variable, workspace }]) => ({
    key,
    value: toWire(values.get(key)) ?? null,
    places: placesOf(key, entries),
    description: shape.description ?? '',
    wanted: wantedWritten(shape),
    variable,
    workspace: typeof workspace === 'function' ? 'tighten' : 'nothing',
  }))
}

/** The key of this name, or all of a group. Throws `MisuseError` with the nearest where there is none. */
export function findReports(reports: readonly ConfiguredKey[], name: string): ConfiguredKey[] {
  const found = reports.filter(({ key }) => key === name || key.startsWith(`${name}.`))
  if (found.length > 0) return found
  throw unknownName('key', name, [...keys.keys(), ...groups])
}

/** Where a later entry replaces an earlier one, only the last place counts. */
function placesOf(key: string, entries: readonly Entry[]): string[] {
  const places = entries.filter(({ name }) => name === key).map(({ place }) => place)
  return keys.get(key)?.addsUp ? places : places.slice(-1)
}

/** The file of the configuration as a JSON Schema, for editors. */
export function configurationSchema(): JsonSchema {
  const properties: Record<string, JsonSchema> = {
    $schema: { type: 'string', description: 'Where this schema is' },
  }
  const within = new Map<string, ObjectSchema>()
  for (const [name, { shape }] of keys) {
    const [group = '', key] = name.split('.')
    if (key === undefined) properties[name] = valueSchema(shape)
    else {
      const schema = within.get(group) ?? emptyObject()
      schema.properties[key] = valueSchema(shape)
      within.set(group, schema)
    }
  }
  for (const group of groups) {
    const schema = within.get(group) ?? emptyObject()
    properties[group] = schema.properties['enabled']
      ? { anyOf: [schema, { type: 'boolean' }] }
      : schema
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of nacre',
    type: 'object',
    properties,
    additionalProperties: false,
  }
}

function emptyObject(): ObjectSchema {
  return { type: 'object', properties: {}, required: [], additionalProperties: false }
}

function valueSchema(shape: Shape): JsonSchema {
  const schema = jsonSchema(shape)
  if (shape.kind !== 'number' || shape.unit !== 'seconds') return schema
  const { description, ...number } = schema
  const duration = { type: 'string', pattern: '^(\\d+(\\.\\d*)?|\\.\\d+)(ms|s|m|h)?$' }
  return { anyOf: [number, duration], description }
}
