import { type FieldName, fieldNames, fields } from '../protocol/request/fields.ts'
import type { Flag } from '../protocol/request/flag.ts'
import * as shape from '../protocol/shape/shape.ts'
import { toSnakeCase } from '../protocol/wire.ts'
import { otherShellFlags, shellFlags } from './shell-flags.ts'

/** Fields whose option is not their name, or that have none. */
const spelledOtherwise: Partial<Record<FieldName, string | null>> = {
  inactivitySeconds: 'inactivity-timeout',
  mode: null,
  guard: null,
  hardening: null,
}

function fieldFlag(field: FieldName): Flag[] {
  const of = fields[field]
  const { description = '' } = of
  const spelled = spelledOtherwise[field]
  if (spelled === null) return []
  // A duration is written with its unit (`30s`), so the option's name does not need one.
  const name = spelled ?? toSnakeCase(field.replace(/Seconds$/, '')).replaceAll('_', '-')
  if (of.kind === 'boolean') {
    const short = field === 'login' ? { short: 'l' } : {}
    return [{ name, ...short, shape: null, description, field, value: true }]
  }
  return [{ name, shape: of, description, field }]
}

/** What shapes a run. */
export const runFlags: readonly Flag[] = [
  ...fieldNames.flatMap(fieldFlag),
  { name: 'slow', shape: null, description: 'Allow 15 minutes', field: 'mode', value: 'slow' },
  {
    name: 'background',
    shape: null,
    description: 'Start as a job and return at once',
    field: 'mode',
    value: 'background',
  },
  {
    name: 'no-guard',
    shape: null,
    description: 'Lift the guard for this call',
    field: 'guard',
    value: false,
  },
  {
    name: 'no-harden',
    shape: null,
    description: 'Leave the environment as it is',
    field: 'hardening',
    value: false,
  },
]

/** The option that every command has. */
export const helpFlag: Flag = {
  name: 'help',
  short: 'h',
  shape: null,
  description: 'Show this help',
}

const quietFlag: Flag = {
  name: 'quiet',
  short: 'q',
  shape: null,
  description: 'No messages of nacre on stderr',
}
const artifactDirFlag: Flag = {
  name: 'artifact-dir',
  shape: shape.text('', { hint: 'dir' }),
  description: 'Keep artifacts in this folder',
}

/** What every subcommand takes too, before or behind its name. */
export const globalFlags: readonly Flag[] = [
  helpFlag,
  quietFlag,
  artifactDirFlag,
  ...fieldFlag('cwd'),
]

/** What chooses the front door, and how it speaks. */
export const doorFlags: readonly Flag[] = [
  { name: 'print', short: 'p', shape: null, description: 'Answer one prompt and exit' },
  {
    name: 'command',
    short: 'c',
    shape: shape.anyText('', 'command'),
    isSingle: true,
    takesFirstWord: true,
    description: 'Run a command and exit; words behind it are its $0, $1, …',
  },
  { name: 'rpc', shape: null, description: 'Speak JSON-RPC 2.0 on stdin and stdout' },
  {
    name: 'mode',
    shape: shape.choice(['rpc', 'print', 'repl']),
    description: 'Another spelling of the front door',
  },
  {
    name: 'output-format',
    shape: shape.choice(['text', 'json', 'stream-json']),
    description: 'How print answers (default text)',
  },
  {
    name: 'input-format',
    shape: shape.choice(['text', 'lines']),
    description: 'Standard input is one prompt, or one a line (default text)',
  },
  quietFlag,
  artifactDirFlag,
  helpFlag,
  { name: 'version', shape: null, description: 'Show the version; so does -v alone' },
]

/** What a model may do, and which conversation it goes on with. */
export const promptFlags: readonly Flag[] = [
  {
    name: 'model',
    shape: shape.text('', { hint: 'provider/name' }),
    description: 'Which model answers prompts',
  },
  {
    name: 'provider',
    shape: shape.text('', { hint: 'name' }),
    description: 'The provider of that model',
  },
  {
    name: 'output-schema',
    shape: shape.text('', { hint: 'file|JSON' }),
    description: 'The answer is JSON that meets this JSON Schema',
  },
  {
    name: 'continue',
    shape: null,
    description: 'Go on with the newest conversation of this folder',
  },
  {
    name: 'resume',
    shape: shape.text('', { hint: 'conversation' }),
    description: 'Go on with this conversation',
  },
  { name: 'no-session', shape: null, description: 'Do not keep the conversation' },
  {
    name: 'max-steps',
    shape: shape.integer('', { min: 1 }),
    description: 'Ask the model at most so often for one prompt (default 50)',
  },
  {
    name: 'max-cost',
    shape: shape.number('', { above: 0 }),
    description: 'Stop a prompt that has cost so many US dollars',
  },
  { name: 'yes', shape: null, description: 'Answer the questions of the guard with yes' },
  {
    name: 'allow',
    shape: shape.list(shape.text('', { hint: 'rule' })),
    description:
      'Let commands pass that begin so, or match /this/, where no built-in rule denies them',
  },
]

export const flags: readonly Flag[] = [
  ...doorFlags,
  ...shellFlags,
  ...promptFlags,
  ...runFlags,
  ...otherShellFlags,
]
