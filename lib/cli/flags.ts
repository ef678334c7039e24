import {
  type FieldName,
  fieldNames,
  fields,
  type Flag,
  option,
  toggle,
} from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'
import { toSnakeCase } from '../protocol/wire.ts'

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
  if (of.type === 'boolean') {
    const short = field === 'login' ? { short: 'l' } : {}
    return [toggle(name, description, { ...short, field, value: true })]
  }
  return [option(name, of, description, { field })]
}

/** What shapes a run. */
export const runFlags: readonly Flag[] = [
  ...fieldNames.flatMap(fieldFlag),
  toggle('slow', 'Allow 15 minutes', { field: 'mode', value: 'slow' }),
  toggle('background', 'Start as a job and return at once', { field: 'mode', value: 'background' }),
  toggle('no-guard', 'Lift the guard for this call', { field: 'guard', value: false }),
  toggle('harden', 'Prepare the environment of a shell for programs that nobody watches', {
    field: 'hardening',
    value: true,
  }),
  toggle('no-harden', 'Leave the environment as it is', { field: 'hardening', value: false }),
]

/** A text that help calls by this name. */
const word = (hint: string) => shape.text('', { hint })

/** The option that every command has. */
export const helpFlag = toggle('help', 'Show this help', { short: 'h' })

const quietFlag = toggle('quiet', 'No messages of nacre on stderr', { short: 'q' })
const artifactDirFlag = option('artifact-dir', word('dir'), 'Keep artifacts in this folder')

/** What every subcommand takes too, before or behind its name. */
export const globalFlags: readonly Flag[] = [
  helpFlag,
  quietFlag,
  artifactDirFlag,
  ...fieldFlag('cwd'),
]

/** What chooses the front door, and how it speaks. */
export const doorFlags: readonly Flag[] = [
  toggle('print', 'Answer one prompt and exit', { short: 'p' }),
  option(
    'command',
    shape.anyText('', { hint: 'command' }),
    'Run a command and exit; words behind it are its $0, $1, …',
    { short: 'c', takesFirstWord: true },
  ),
  toggle('stdin', 'Read the commands from standard input; words behind it are $1, $2, …', {
    short: 's',
  }),
  toggle('rpc', 'Speak JSON-RPC 2.0 on stdin and stdout'),
  option('mode', shape.choice(['rpc', 'print', 'repl']), 'Another spelling of the front door'),
  option(
    'output-format',
    shape.choice(['text', 'json', 'stream-json']),
    'How print answers (default text)',
  ),
  option(
    'input-format',
    shape.choice(['text', 'lines']),
    'Standard input is one prompt, or one a line (default text)',
  ),
  quietFlag,
  artifactDirFlag,
  helpFlag,
  toggle('version', 'Show the version; so does -v alone'),
]

/** What a model may do, and which conversation it goes on with. */
export const promptFlags: readonly Flag[] = [
  option('model', word('provider/name'), 'Which model answers prompts'),
  option('provider', word('name'), 'The provider of that model'),
  option('output-schema', word('file|JSON'), 'The answer is JSON that meets this JSON Schema'),
  toggle('continue', 'Go on with the newest conversation of this folder'),
  option('resume', word('conversation'), 'Go on with this conversation'),
  toggle('no-session', 'Do not keep the conversation'),
  option(
    'max-steps',
    shape.integer('', { minimum: 1 }),
    'Ask the model at most so often for one prompt (default 50)',
  ),
  option(
    'max-cost',
    shape.number('', { exclusiveMinimum: 0 }),
    'Stop a prompt that has cost so many US dollars',
  ),
  toggle('yes', 'Answer the questions of the guard with yes'),
  option(
    'allow',
    shape.list(word('rule')),
    'Let commands pass that begin so, or match /this/, where no built-in rule denies them',
  ),
]

export const flags: readonly Flag[] = [...doorFlags, ...promptFlags, ...runFlags]
