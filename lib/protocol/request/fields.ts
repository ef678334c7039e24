import * as shape from '../shape/shape.ts'
import { limits } from '../limits.ts'
import { toCamelCase } from '../wire.ts'

/** A name that a variable of an environment can have and that programs can read. */
const variableName = '^[^\\d\\s=\\0][^\\s=\\0]*$'

/** The fields that every front door offers. All may be left out; numbers name their unit. */
export const fields = {
  cwd: shape.text('Working directory (default: the current one)', { hint: 'dir' }),
  env: shape.record(shape.anyText(), 'Variables added over the environment of the run', {
    propertyNames: shape.anyText('', { pattern: variableName }),
  }),
  timeoutSeconds: shape.seconds('Stop the run after this time; 0 never'),
  mode: shape.choice(
    ['default', 'slow', 'background'],
    'How long it may take: default, slow, or background',
  ),
  onTimeout: shape.choice(
    ['kill', 'background'],
    'At the deadline: stop the run, or let it go on as a job',
  ),
  inactivitySeconds: shape.seconds('Stop a run that has written nothing for so long; 0 never'),
  signal: shape.choice(
    ['TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2', 'KILL'],
    'What asks the processes of a run to end when it is stopped (default TERM)',
    { prefix: 'SIG' },
  ),
  killAfterSeconds: shape.seconds('Kill what has not ended so long after that (default 2)'),
  waitSeconds: shape.seconds('Return after this time while the run goes on as a job; 0 at once'),
  ready: shape.text('Return as soon as the port listens, a line matches, or output has paused', {
    hint: 'port:N|regex:…|quiet:ms',
  }),
  pty: shape.boolean('Run on a terminal of its own'),
  columns: shape.integer('Width of that terminal (default 80)', limits.terminalColumns),
  rows: shape.integer('Height of that terminal (default 24)', limits.terminalRows),
  openStdin: shape.boolean('Keep the standard input open, to be written to while it runs'),
  session: shape.text('Run in this session, a shell that keeps its state', { hint: 'name' }),
  host: shape.text(
    'Run on another machine: ssh://, docker://, podman://, kubectl:// or slurm://…, or a name that ssh knows',
    { hint: 'host' },
  ),
  cores: shape.integer('Slurm: so many cores (--cpus-per-task)', { minimum: 1 }),
  memory: shape.text('Slurm: so much memory, with a unit as sbatch has it (--mem)', { hint: '4G' }),
  sbatch: shape.list(
    shape.text('', { hint: 'word' }),
    'Slurm: one more option of sbatch, with its value in one word: --qos=high',
  ),
  array: shape.text(
    'Run it so many times at once, each with its number in NACRE_TASK (- reads a command a line)',
    { hint: 'N|1-500' },
  ),
  jobs: shape.integer('Of an array: at most so many tasks at once, on each host', { minimum: 1 }),
  retry: shape.integer('Of an array: try a task that fails so often again (default 0)'),
  streams: shape.choice(
    ['merged', 'separate'],
    'One text in the order of writing, or stdout and stderr apart; together those are in the order of reading',
  ),
  head: shape.integer('Only the first lines of the text'),
  tail: shape.integer('Only the last lines of the text (after `head`)'),
  maxLines: shape.integer('At most so many lines of text (default 2000)', { minimum: 1 }),
  maxBytes: shape.integer('At most so many bytes of text (default 51200)', { minimum: 1 }),
  truncate: shape.choice(
    ['tail', 'head-tail', 'middle', 'none'],
    'Which part of a long text is kept',
  ),
  sandbox: shape.choice(
    ['off', 'auto', 'read-only', 'workspace'],
    'What the system lets the command write; auto: workspace, where the system can',
  ),
  network: shape.choice(['on', 'off'], 'Network inside the sandbox (default on)'),
  workspace: shape.text(
    'Folder the sandbox may write (default: the git root, else the directory)',
    {
      hint: 'dir',
    },
  ),
  shell: shape.text('The shell, by path or name (default: bash, else sh)', { hint: 'program' }),
  login: shape.boolean('Run the shell as a login shell'),
  guard: shape.boolean('Ask the guard first (default true)'),
  hardening: shape.boolean('Environment without pagers, editors and questions (default true)'),
  artifact: shape.choice(
    ['auto', 'always', 'never'],
    'Keep the complete raw output: when it does not fit, always, or never',
  ),
} satisfies shape.Fields

export type FieldName = keyof typeof fields

export const fieldNames = Object.keys(fields) as FieldName[]

/** The command of a run, which is no option. */
export const command = shape.anyText('The command line, as a shell reads it', { hint: 'command' })

/** What a request runs: exactly one of `command`, `args`, `commands` and `script`. */
export const subjects = {
  command,
  args: shape.list(
    shape.anyText(),
    'In place of `command`: a program and its words, with no shell in between',
  ),
  commands: shape.list(
    shape.anyText(),
    'In place of `command`: an array of which each task runs one of these',
  ),
  script: shape.text('In place of `command`: a file that the shell runs; - is its standard input', {
    hint: 'path',
  }),
  parameters: shape.list(
    shape.anyText(),
    'What the command finds as $0, $1, …; the script as $1, $2, …',
  ),
  shellOptions: shape.list(
    shape.text('', { hint: 'option' }),
    'Options of the shell by their names in `set -o`: errexit, pipefail; or as bash has them: -e, +o errexit, -O extglob',
  ),
}

/** One option of a command line, defined once: parser, help, completions and manual read it. */
export interface Flag {
  /** Long name without dashes. A name that begins with `no-` switches off what is on by default. */
  name: string
  short?: string
  /**
   * What its value may be; null: it takes none. A list may be given item by item, a record as
   * NAME=VALUE.
   */
  shape: shape.Shape | null
  description: string
  /** After its short name its value is the first word that is no option, as with a shell's `-c`; given once only. */
  takesFirstWord?: boolean
  /** The field of a request that it sets, and the value where it takes none. */
  field?: FieldName
  value?: unknown
}

type More = Omit<Flag, 'name' | 'shape' | 'description'>

/** An option that takes no value. */
export function toggle(name: string, description: string, more: More = {}): Flag {
  return { name, shape: null, description, ...more }
}

/** An option with a value. */
export function option(
  name: string,
  shape: shape.Shape,
  description: string,
  more: More = {},
): Flag {
  return { name, shape, description, ...more }
}

/** The key of an option in the code, of both its sides: `guard` for `--no-guard`, `maxLines` for `--max-lines`. */
export function optionKey({ name }: Pick<Flag, 'name'>): string {
  return toCamelCase(name.replace(/^no-/, '').replaceAll('-', '_'))
}

/** What the value of an option is called in help: `dir`, `kill|background`. */
export function hintOf(of: shape.Shape): string {
  const { type, hint, enum: values, items, unit } = of
  if (items) return hintOf(items)
  if (shape.isNumber(of)) return unit === 'seconds' ? 'duration' : 'n'
  if (type === 'object') return 'K=V'
  return hint ?? values?.join('|') ?? 'text'
}
