import { type Flag, hintOf } from '../protocol/request/fields.ts'
import { doorFlags, helpFlag, promptFlags, runFlags } from './flags.ts'

/** What the help tells of a subcommand. */
export interface DescribedCommand {
  usage: string
  description: string
  flags: readonly Flag[]
  details?: readonly string[]
  examples: readonly string[]
}

/** A part of a help: lines as they are, then words with their meanings. Help and manual are written from these. */
export interface Section {
  title: string
  lines?: readonly string[]
  items?: readonly Item[]
}
export type Item = readonly [words: string, meaning: string]

/** The front doors: what is typed, and what it does. */
export const doors: readonly Item[] = [
  ['nacre', 'interactive (needs a terminal)'],
  ['nacre -c <command> [name [arg…]]', 'run one command, with $0 and $1… as in a shell'],
  ['nacre <script file> [arg…]', 'run a script; #!/usr/bin/env nacre works'],
  ['nacre -- <program> [arg…]', 'run a program with exactly these words, without a shell'],
  ['nacre -p <prompt>', "answer one prompt; '!<command>' runs a command"],
  ['nacre --rpc', 'JSON-RPC 2.0 on stdin and stdout'],
]

const flagGroups: readonly (readonly [title: string, flags: readonly Flag[]])[] = [
  ['Front door', doorFlags],
  ['Prompts for a model', promptFlags],
  ['Shaping a run (a duration is seconds, or 500ms, 30s, 5m, 2h; 0 is none)', runFlags],
]

/** Command lines that work. */
const examples: readonly string[] = [
  "nacre -c 'git log --oneline | head -3'",
  `find . -name '*.md' -exec nacre -c 'wc -l "$1"' _ {} \\;`,
  'nacre --timeout 5m -- make test',
  "nacre -c 'npm test' --timeout 300 --output-format json",
  "echo '!ls | wc -l' | nacre -p",
]

const exitStatuses: readonly Item[] = [
  ['0, 1', 'of a prompt for a model: answered, or not'],
  ['124', 'the command was stopped by its deadline'],
  ['125', 'nacre itself failed, or was used wrongly'],
  ['126', 'the guard denied the command, or its program cannot be executed'],
  ['127', 'the program was not found'],
  ['128+n', 'the command was ended by signal n'],
  ['other', 'the exit status of the command'],
]

/** What nacre hands on to the shell. */
const shellOptions: readonly Item[] = [
  ['-e -u -x -n -v -i -r …', 'as in bash, each letter that is not an option above'],
  ['-o <name>, -O <name>', 'options of `set -o`, such as pipefail, and of `shopt`'],
  ['--norc --noprofile --posix …', 'as in bash'],
  ['+e, +o <name>, …', 'switch off'],
]

/** The options of nacre itself. */
export const optionSections: readonly Section[] = [
  ...flagGroups.map(([title, flags]) => ({ title, items: flags.map(describeFlag) })),
  { title: 'The shell', items: shellOptions },
]

/** What stands below the options. */
export const lastSections: readonly Section[] = [
  { title: 'Examples', lines: examples.map((example) => `  ${example}`) },
  { title: 'Exit status', items: exitStatuses },
]

export function commandSections({
  flags,
  details = [],
  examples: own,
}: DescribedCommand): readonly Section[] {
  return [
    ...(details.length > 0 ? [{ title: '', lines: details }] : []),
    { title: 'Options', items: [...flags, helpFlag].map(describeFlag) },
    { title: 'Examples', lines: own.map((example) => `  ${example}`) },
  ]
}

function describeFlag({ name, short, shape, description }: Flag): Item {
  const names = `${short ? `-${short}, ` : '    '}--${name}`
  return [shape === null ? names : `${names} <${hintOf(shape)}>`, description]
}

/** The help of nacre as a whole; `isBrief`: on one screen. */
export function writeUsage(
  version: string,
  commands: readonly DescribedCommand[],
  isBrief = false,
): string {
  const usages = commands.map(({ usage, description }): Item => [
    isBrief ? usage.split(' ', 2).join(' ') : usage,
    description,
  ])
  return [
    `nacre ${version}: one shell executor for coding agents, scripts and people\n`,
    writeSection({ title: 'Usage', items: [...doors, ...usages] }),
    ...(isBrief ? [] : [...optionSections, ...lastSections].map(writeSection)),
    `More: ${isBrief ? 'nacre --help, ' : ''}nacre help <command or option>.\n`,
  ].join('\n')
}

/** The help of one subcommand. */
export function writeCommandHelp(command: DescribedCommand): string {
  const { usage, description } = command
  return [`${usage}\n\n${description}\n`, ...commandSections(command).map(writeSection)].join('\n')
}

/** The help of one option. */
export function writeFlagHelp(flag: Flag): string {
  return writeSection({ title: '', items: [describeFlag(flag)] })
}

/** What it is called, then what it does: in the next line where the name is too long. */
export function writeSection({ title, lines = [], items = [] }: Section): string {
  const written = items.map(([words, meaning]) => {
    const start = `  ${words}`.padEnd(37)
    return start.endsWith(' ') ? start + meaning : `${start}\n${' '.repeat(37)}${meaning}`
  })
  return [...(title === '' ? [] : [`${title}:`]), ...lines, ...written, ''].join('\n')
}
