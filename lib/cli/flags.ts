import { type FieldName, fieldNames, fields, type FieldType } from '../protocol/fields.ts'
import { toSnakeCase } from '../protocol/wire.ts'

/** One option of the command line, defined once: the parser, the help and the completions read it. */
export interface Flag {
  /** Long name without dashes. A name that begins with `no-` switches off what is on by default. */
  name: string
  short?: string
  /** Null: it takes no value. */
  hint: string | null
  repeatable?: boolean
  description: string
  /** The field of a request that it sets, and the value where it takes none. */
  field?: FieldName
  value?: unknown
  type?: FieldType
}

/** Fields whose option is not their name, or that have none. */
const spelledOtherwise: Partial<Record<FieldName, string | null>> = {
  timeoutSeconds: 'timeout',
  inactivitySeconds: 'inactivity-timeout',
  waitSeconds: 'wait',
  mode: null,
  guard: null,
  hardening: null,
}

function fieldFlag(field: FieldName): Flag[] {
  const { type, description } = fields[field]
  const spelled = spelledOtherwise[field]
  if (spelled === null) return []
  const name = spelled ?? toSnakeCase(field).replaceAll('_', '-')
  if (type.kind === 'boolean') return [{ name, hint: null, description, field, value: true }]
  const repeatable = type.kind === 'strings'
  return [{ name, hint: hintOf(type), description, field, type, repeatable }]
}

function hintOf(type: FieldType): string {
  switch (type.kind) {
    case 'string':
      return type.hint
    case 'choice':
      return type.values.join('|')
    case 'strings':
      return 'K=V'
    case 'number':
    case 'atLeast':
      return 'seconds'
    default:
      return 'n'
  }
}

/** What shapes a run. */
export const runFlags: readonly Flag[] = [
  ...fieldNames.flatMap(fieldFlag),
  { name: 'slow', hint: null, description: 'Allow 15 minutes', field: 'mode', value: 'slow' },
  {
    name: 'background',
    hint: null,
    description: 'Start as a job and return at once',
    field: 'mode',
    value: 'background',
  },
  {
    name: 'no-guard',
    hint: null,
    description: 'Lift the guard for this call',
    field: 'guard',
    value: false,
  },
  {
    name: 'no-harden',
    hint: null,
    description: 'Leave the environment as it is',
    field: 'hardening',
    value: false,
  },
]

/** Every command has it. */
export const helpFlag: Flag = {
  name: 'help',
  short: 'h',
  hint: null,
  description: 'Show this help',
}

/** What chooses the front door, and how it speaks. */
export const doorFlags: readonly Flag[] = [
  { name: 'print', short: 'p', hint: null, description: 'Answer one prompt and exit' },
  {
    name: 'command',
    short: 'c',
    hint: 'command',
    description: "Run a command and exit; the same as -p '!<command>'",
  },
  { name: 'rpc', hint: null, description: 'Speak JSON-RPC 2.0 on stdin and stdout' },
  { name: 'mode', hint: 'rpc|print|repl', description: 'Another spelling of the front door' },
  {
    name: 'output-format',
    hint: 'text|json|stream-json',
    description: 'How print answers (default text)',
    type: { kind: 'choice', values: ['text', 'json', 'stream-json'] },
  },
  {
    name: 'input-format',
    hint: 'text|lines',
    description: 'Standard input is one prompt, or one a line (default text)',
    type: { kind: 'choice', values: ['text', 'lines'] },
  },
  { name: 'quiet', short: 'q', hint: null, description: 'No messages of nacre on stderr' },
  { name: 'artifact-dir', hint: 'dir', description: 'Keep artifacts in this folder' },
  { name: 'model', hint: 'provider/name', description: 'Which model answers prompts' },
  { name: 'provider', hint: 'name', description: 'The provider of that model' },
  { name: 'no-session', hint: null, description: 'Do not save the conversation' },
  helpFlag,
  { name: 'version', short: 'v', hint: null, description: 'Show the version' },
]

export const flags: readonly Flag[] = [...doorFlags, ...runFlags]
