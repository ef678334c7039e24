import { type ConfiguredKey, configuredProviderShape } from '../protocol/configuration.ts'
import { fields } from '../protocol/request/fields.ts'
import { userRuleShape } from '../protocol/rules.ts'
import { wantedOf } from '../protocol/shape/check.ts'
import * as shape from '../protocol/shape/shape.ts'
import { toSnakeCase, toWire } from '../protocol/wire.ts'
import { isBelow } from '../system/look.ts'

/**
 * Whether the file of a workspace nobody trusted may give a key this value: where it tightens what holds
 * without it (`current`; undefined: the default).
 */
type Restrict = (value: unknown, current: unknown, workspace: string) => boolean

/** Of values in an order from loose, the default, to strict, one that is at least as strict is allowed. */
function atLeastAsStrict(order: readonly string[]): Restrict {
  const rank = (value: unknown): number => Math.max(0, order.indexOf(String(value)))
  return (value, current) => rank(value) >= rank(current)
}

/** One key, defined once: checks, messages, environment variables and trust are made from it. */
interface Key {
  /** What the value may be; its description is that of the key. */
  shape: shape.Shape
  /** What the file of a workspace may say where its folder is not trusted (default: nothing). */
  workspace?: Restrict
  /** A value of a later place is added to that of an earlier one and does not replace it. */
  addsUp?: boolean
}

const { boolean, choice, either, integer, list, number, object, record, seconds, text } = shape

const sandboxes = ['off', 'auto', 'workspace', 'read-only'] as const
const paths = (description: string) => list(text('', { hint: 'path' }), description)
const deadline = (description: string) => seconds(description, { exclusiveMinimum: 0 })
const amount = (description: string) => integer(description, { minimum: 1 })
const tool = text('', { hint: 'tool' })
const host = text('', { hint: 'host' })
const { guard: _, ...ofRequests } = fields

/** Keys beside the fields of a request, `group.key` for those within a group. */
const ownShapes = {
  pty: choice(['auto', 'on', 'off'], 'Whether runs get a terminal (default auto: if asked)'),
  sandbox: choice(
    sandboxes,
    'What the system lets commands write; auto: workspace, where the system can',
  ),
  prefix: either(
    [text(), list(text())],
    'a program with its arguments, as a text or a list of texts',
    'Put before the shell of every command of an agent: nix develop -c',
  ),
  'timeouts.default': deadline('Deadline where a run has one and none was asked for (default 30)'),
  'timeouts.slow': deadline('The same with mode slow (default 900)'),
  'timeouts.background': deadline('The same with mode background (default 86400)'),
  'guard.enabled': boolean('Ask the guard first (default true); `"guard": false` is the same'),
  'guard.rules': list(
    userRuleShape,
    'Rules of your own: [{ match, not_match, decision, reason, suggested_tool, lifts, examples }]',
  ),
  'guard.default': choice(
    ['allow', 'ask', 'deny'],
    'What becomes of a command that no rule of yours names (default allow)',
  ),
  'guard.suggest_tool': either(
    [boolean(), object({}, { read: tool, search: tool, find: tool, edit: tool, write: tool })],
    'true, false, or a tool for each kind',
    'Send agents from commands to their own tools (default false)',
  ),
  'artifacts.artifact_bytes': amount('Most bytes of one artifact (default 256 MiB)'),
  'artifacts.store_bytes': amount(
    'Most bytes of all artifacts, oldest removed first (default 2 GiB)',
  ),
  'artifacts.age_days': number('Artifacts are removed after so many days (default 14)', {
    exclusiveMinimum: 0,
  }),
  artifact_dir: text('Folder of the artifacts (default: in the state folder)', { hint: 'dir' }),
  output_format: choice(['text', 'json', 'stream-json'], 'How print answers (default text)'),
  writable_folders: paths('What a run in the sandbox may write beside its workspace'),
  hidden_paths: paths('What no run in the sandbox may see, beside what is hidden anyway'),
  visible_paths: paths('What runs in the sandbox may see of what it hides in your home'),
  model: text('Which model answers prompts', { hint: 'provider/name' }),
  providers: record(
    configuredProviderShape,
    'More providers of models by name: { api, base_url, key_env }',
  ),
  hosts: record(host, 'Other machines by name: { "build": "ssh://me@build.example" }'),
  agent_hosts: list(
    host,
    'Hosts on which a model may run commands, in a sandbox where nacre is installed there (default none)',
  ),
  'agent.pass_env': list(
    text('', { hint: 'name' }),
    'Variables passed to the commands of a model although they look like secrets (default none)',
  ),
  audit: choice(
    ['on', 'no-commands', 'off'],
    'Whether each run has a line in audit.jsonl, and whether that has its command, secrets masked (default on)',
  ),
  trusted_folders: paths(
    'Workspaces, and folders of workspaces, whose own file may set everything',
  ),
}

/** What those keys hold, in the names of the code within. */
export type ConfiguredValues = Readonly<Partial<shape.InferFields<typeof ownShapes>>>

/** Keys that a workspace may set, or that add up. */
const rights: Readonly<Record<string, Omit<Key, 'shape'>>> = {
  // A folder has to be the workspace or one below it, wherever links lead.
  cwd: { workspace: (value, _, workspace) => isBelow(String(value), workspace) },
  env: { addsUp: true },
  network: { workspace: atLeastAsStrict(['on', 'off']) },
  // Without a word of the user a model has one: `off` never tightens.
  sandbox: {
    workspace: (value, ...now) => value !== 'off' && atLeastAsStrict(sandboxes)(value, ...now),
  },
  'guard.enabled': { workspace: (value) => value === true },
  'guard.rules': { addsUp: true, workspace: () => true },
  'guard.default': { workspace: atLeastAsStrict(['allow', 'ask', 'deny']) },
  // It may be switched on, and left as it is.
  'guard.suggest_tool': { workspace: (value, current) => value !== false || !current },
  hidden_paths: { addsUp: true, workspace: () => true },
  visible_paths: { addsUp: true },
  providers: { addsUp: true },
  'agent.pass_env': { addsUp: true },
  hosts: { addsUp: true },
}

export const keys: ReadonlyMap<string, Key> = new Map(
  Object.entries<shape.Shape>({
    ...Object.fromEntries(Object.entries(ofRequests).map(([name, of]) => [toSnakeCase(name), of])),
    ...ownShapes,
  }).map(([name, shape]) => [name, { shape, ...rights[name] }]),
)

/** The groups: `timeouts`, `guard`, `artifacts`, `agent`. */
export const groups: ReadonlySet<string> = new Set(
  [...keys.keys()].filter((name) => name.includes('.')).map((name) => name.split('.')[0] ?? ''),
)

/** The environment variable of a key. Null: that marks the processes of a session. */
export function variableOf(key: string): string | null {
  return key === 'session' ? null : `NACRE_${key.toUpperCase().replaceAll('.', '_')}`
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
  values: Readonly<Record<string, unknown>>,
): ConfiguredKey[] {
  return [...keys].map(([key, { shape, workspace }]) => ({
    key,
    value: valueInFile(shape, values[key]) ?? null,
    places: placesOf(key, entries),
    description: shape.description ?? '',
    wanted: wantedOf(shape),
    variable: variableOf(key),
    workspace: workspace ? 'tighten' : 'nothing',
  }))
}

/** A value as a file has it; the names in a record, such as those of variables and hosts, are the user's own. */
function valueInFile({ type, properties }: shape.Shape, value: unknown): unknown {
  if (type !== 'object' || properties || !shape.isObject(value)) return toWire(value)
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [name, toWire(held)]))
}

/** Where a later entry replaces an earlier one, only the last place counts. */
function placesOf(key: string, entries: readonly Entry[]): string[] {
  const places = entries.filter(({ name }) => name === key).map(({ place }) => place)
  return keys.get(key)?.addsUp ? places : places.slice(-1)
}

/** The file of the configuration as a JSON Schema, for editors. */
export function configurationSchema(): shape.JsonSchema {
  const fields: Record<string, shape.Shape> = { $schema: shape.anyText('Where this schema is') }
  for (const [name, { shape }] of keys) if (!name.includes('.')) fields[name] = inFile(shape)
  for (const group of groups) {
    const within: Record<string, shape.Shape> = {}
    for (const [name, { shape }] of keys) {
      if (name.startsWith(`${group}.`)) within[name.slice(group.length + 1)] = inFile(shape)
    }
    const whole = object({}, within)
    fields[group] = within['enabled'] ? { anyOf: [whole, boolean()] } : whole
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of nacre',
    ...shape.jsonSchema(object({}, fields)),
  }
}

/** A time may be a text there, such as `5m`. */
function inFile(of: shape.Shape): shape.Shape {
  const { description = '', ...number } = of
  const duration = text('', { pattern: '^(\\d+(\\.\\d*)?|\\.\\d+)(ms|s|m|h)?$' })
  return of.unit === 'seconds' ? { anyOf: [number, duration], description } : of
}
