import {
  artifactModes,
  modes,
  type RequestInput,
  sandboxModes,
  streamModes,
  truncateModes,
} from './request.ts'

/** What a field of a request may hold. Numbers name their unit in the field's name. */
export type FieldType =
  | { kind: 'string'; hint: string }
  | { kind: 'boolean' }
  | { kind: 'integer'; min: number; max: number }
  | { kind: 'number'; above: number }
  | { kind: 'atLeast'; min: number }
  | { kind: 'choice'; values: readonly string[] }
  | { kind: 'strings' }

export interface Field {
  type: FieldType
  /** One line for help texts and schemas. */
  description: string
}

/** The fields that every front door offers, beside `command`, `origin` and `stdin`. */
export type FieldName = Exclude<keyof RequestInput, 'command' | 'origin' | 'stdin'>

const count = { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER } as const
const positive = { kind: 'integer', min: 1, max: Number.MAX_SAFE_INTEGER } as const

/** Each field of a request once: checks, help and schemas are made from this table. */
export const fields: Readonly<Record<FieldName, Field>> = {
  cwd: {
    type: { kind: 'string', hint: 'dir' },
    description: 'Working directory (default: the current one)',
  },
  env: {
    type: { kind: 'strings' },
    description: 'Variables added over the environment of the run',
  },
  timeoutSeconds: {
    type: { kind: 'number', above: 0 },
    description: 'Stop the run after so many seconds',
  },
  mode: {
    type: { kind: 'choice', values: modes },
    description: 'How long it may take: default, slow, or background',
  },
  onTimeout: {
    type: { kind: 'choice', values: ['kill', 'background'] },
    description: 'At the deadline: stop the run, or let it go on as a job',
  },
  inactivitySeconds: {
    type: { kind: 'number', above: 0 },
    description: 'Stop a run that has written nothing for so many seconds',
  },
  waitSeconds: {
    type: { kind: 'atLeast', min: 0 },
    description: 'Return after so many seconds while the run goes on as a job; 0 at once',
  },
  ready: {
    type: { kind: 'string', hint: 'port:N|regex:…|quiet:ms' },
    description: 'Return as soon as the port listens, a line matches, or output has paused',
  },
  pty: { type: { kind: 'boolean' }, description: 'Run on a terminal of its own' },
  columns: {
    type: { kind: 'integer', min: 20, max: 400 },
    description: 'Width of that terminal (default 80)',
  },
  rows: {
    type: { kind: 'integer', min: 5, max: 200 },
    description: 'Height of that terminal (default 24)',
  },
  openStdin: {
    type: { kind: 'boolean' },
    description: 'Keep the standard input open, to be written to while it runs',
  },
  session: {
    type: { kind: 'string', hint: 'name' },
    description: 'Run in this session, a shell that keeps its state',
  },
  streams: {
    type: { kind: 'choice', values: streamModes },
    description: 'One text in the order of writing, or stdout and stderr apart',
  },
  head: { type: count, description: 'Only the first lines of the text' },
  tail: { type: count, description: 'Only the last lines of the text (after --head)' },
  maxLines: { type: positive, description: 'At most so many lines of text (default 2000)' },
  maxBytes: { type: positive, description: 'At most so many bytes of text (default 51200)' },
  truncate: {
    type: { kind: 'choice', values: truncateModes },
    description: 'Which part of a long text is kept',
  },
  sandbox: {
    type: { kind: 'choice', values: sandboxModes },
    description: 'What the system lets the command write',
  },
  network: {
    type: { kind: 'choice', values: ['on', 'off'] },
    description: 'Network inside the sandbox (default on)',
  },
  workspace: {
    type: { kind: 'string', hint: 'dir' },
    description: 'Folder the sandbox may write (default: the git root, else the directory)',
  },
  shell: {
    type: { kind: 'string', hint: 'path' },
    description: 'The shell, by path or name (default: bash, else sh)',
  },
  login: { type: { kind: 'boolean' }, description: 'Run the shell as a login shell' },
  guard: {
    type: { kind: 'boolean' },
    description: 'Ask the guard first (default true)',
  },
  hardening: {
    type: { kind: 'boolean' },
    description: 'Environment without pagers, editors and questions (default true)',
  },
  artifact: {
    type: { kind: 'choice', values: artifactModes },
    description: 'Keep the complete raw output: when it does not fit, always, or never',
  },
}

export const fieldNames = Object.keys(fields) as FieldName[]
