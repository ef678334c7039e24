import { type Flag, hintOf } from '../protocol/request/flag.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { doorFlags, helpFlag, promptFlags, runFlags } from './flags.ts'
import { otherShellFlags, shellFlags } from './shell-flags.ts'

/** What the help tells of a subcommand. */
export interface DescribedCommand {
  usage: string
  description: string
  flags: readonly Flag[]
  details?: readonly string[]
  examples: readonly string[]
}

/** The front doors: what is typed, and what it does. */
export const doors: readonly (readonly [usage: string, description: string])[] = [
  ['nacre', 'interactive (needs a terminal)'],
  ['nacre -c <command> [name [arg…]]', 'run one command, with $0 and $1… as in a shell'],
  ['nacre <script file> [arg…]', 'run a script; #!/usr/bin/env nacre works'],
  ['nacre -- <program> [arg…]', 'run a program with exactly these words, without a shell'],
  ['nacre -p <prompt>', "answer one prompt; '!<command>' runs a command"],
  ['nacre --rpc', 'JSON-RPC 2.0 on stdin and stdout'],
]

const others = otherShellFlags
  .map(({ name, short }) => (short === undefined || short === 'v' ? `--${name}` : `-${short}`))
  .join(' ')

/** The options of nacre itself, as help and manual group them; `others` are in the manual alone. */
export const flagGroups: readonly (readonly [
  title: string,
  flags: readonly Flag[],
  others?: readonly Flag[],
])[] = [
  ['Front door', doorFlags],
  ['Prompts for a model', promptFlags],
  [
    `The shell, as in bash (also ${others}; + in place of - switches off)`,
    shellFlags,
    otherShellFlags,
  ],
  ['Shaping a run (a duration is seconds, or 500ms, 30s, 5m, 2h; 0 is none)', runFlags],
]

/** Command lines that work; a test runs them. */
export const examples: readonly string[] = [
  "nacre -c 'git log --oneline | head -3'",
  `find . -name '*.md' -exec nacre -c 'wc -l "$1"' _ {} \\;`,
  'nacre --timeout 5m -- make test',
  "nacre -c 'npm test' --timeout 300 --output-format json",
  "echo '!ls | wc -l' | nacre -p",
]

/** The help of nacre as a whole. */
export function describeUsage(version: string, commands: readonly DescribedCommand[]): string {
  return [
    `nacre ${version}: one shell executor for coding agents, scripts and people`,
    '',
    'Usage:',
    ...doors.map(([usage, description]) => inColumns(`  ${usage}`, description, 37)),
    ...commands.map(({ usage, description }) => inColumns(`  ${usage}`, description, 37)),
    '',
    ...flagGroups.flatMap(([title, flags]) => [`${title}:`, ...describeFlags(flags), '']),
    'Examples:',
    ...examples.map((example) => `  ${example}`),
    '',
    'Exit status: that of the command; of a prompt 0 answered, 1 not; 124 timed out, 125 nacre failed, 126 denied, 127 not found,',
    '128+n ended by signal n.',
    '',
    'More: nacre help <command or option>, nacre help --man for the manual.',
    '',
  ].join('\n')
}

/** The help of one subcommand. */
export function describeCommand(command: DescribedCommand): string {
  const { usage, description, flags, details = [], examples } = command
  return [
    usage,
    '',
    description,
    '',
    ...(details.length > 0 ? [...details, ''] : []),
    'Options:',
    ...describeFlags([...flags, helpFlag]),
    '',
    'Examples:',
    ...examples.map((example) => `  ${example}`),
    '',
  ].join('\n')
}

/** What it is called, then what it does: in the next line where the name is too long. */
function inColumns(words: string, description: string, width: number): string {
  const room = words.length < width ? words.padEnd(width) : `${words}\n${' '.repeat(width)}`
  return room + description
}

/** The help of one option. */
export function describeFlag(flag: Flag): string {
  const { name, shape } = flag
  const value = exampleValues[name] ?? (shape === null ? '' : exampleOf(shape))
  const words = [`nacre --${name}`, value, exampleSubjects[name] ?? exampleSubject(flag)]
  const example = words.filter((word) => word !== '').join(' ')
  return [...describeFlags([flag]), '', 'Example:', `  ${example}`, ''].join('\n')
}

/** What an option takes where its shape does not tell, with what it cannot be without. */
const exampleValues: Readonly<Record<string, string>> = {
  'output-format': 'json',
  'input-format': 'lines',
  'output-schema': `'{"type": "object"}'`,
  allow: "'git push'",
  array: '8',
  cores: '8 --host slurm://',
  host: 'build',
  jobs: '4 --array 8',
  'max-steps': '20',
  memory: '4G --host slurm://',
  provider: 'anthropic',
  resume: 'k5x2',
  retry: '2 --array 8',
  sbatch: '--qos=high --host slurm://',
  session: 'build',
  shopt: 'extglob',
}

/** What stands behind an option in its example, where it is not the same as for its neighbours. */
const exampleSubjects: Readonly<Record<string, string>> = {
  print: "'!make test'",
  command: '',
  rpc: '',
  mode: '',
  'input-format': '-p < prompts.txt',
  help: '',
  version: '',
  stdin: '< script.sh',
}

const exampleSubject = (flag: Flag) =>
  promptFlags.includes(flag) ? "-p 'why does make test fail?'" : "-c 'make test'"

/** A value that the option takes. */
function exampleOf(shape: Shape): string {
  switch (shape.kind) {
    case 'choice':
      return shape.values[0] ?? ''
    case 'number':
      return shape.unit === 'seconds' ? '30s' : String(Math.max(shape.min ?? 1, 100))
    case 'record':
      return 'NAME=value'
    case 'list':
      return exampleOf(shape.items)
    default:
      return exampleTexts[shape.kind === 'text' ? shape.hint : ''] ?? ''
  }
}

/** By what the help calls the value. */
const exampleTexts: Readonly<Record<string, string>> = {
  dir: '/tmp',
  program: 'bash',
  command: "'make test'",
  name: 'pipefail',
  'provider/name': 'openai/gpt-5',
  'port:N|regex:…|quiet:ms': 'quiet:500',
}

function describeFlags(flags: readonly Flag[]): string[] {
  return flags.map((flag) => {
    const short = flag.short ? `-${flag.short}, ` : '    '
    const words = `  ${short}--${flag.name}${flag.shape === null ? '' : ` <${hintOf(flag.shape)}>`}`
    return inColumns(words, flag.description, 36)
  })
}
