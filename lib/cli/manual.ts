import type { ConfiguredKey } from '../protocol/configuration.ts'
import { hintOf, type Flag } from '../protocol/request/flag.ts'
import { type DescribedCommand, doors, examples, flagGroups } from './help.ts'

/** What the manual is made from, beside the options of nacre itself. */
export interface ManualParts {
  version: string
  /** The day on which the manual was made. */
  date: Date
  commands: readonly DescribedCommand[]
  keys: readonly ConfiguredKey[]
  /** Variables that are no keys, and what each says. */
  variables: Readonly<Record<string, string>>
}

const exitStatuses: readonly (readonly [status: string, meaning: string])[] = [
  ['0, 1', 'of a prompt for a model: answered, or not'],
  ['124', 'the command was stopped by its deadline'],
  ['125', 'nacre itself failed, or was used wrongly'],
  ['126', 'the guard denied the command, or its program cannot be executed'],
  ['127', 'the program was not found'],
  ['128+n', 'the command was ended by signal n'],
  ['other', 'the exit status of the command'],
]

const files: readonly (readonly [path: string, meaning: string])[] = [
  ['~/.config/nacre/config.json', 'the configuration (under $XDG_CONFIG_HOME where that is set)'],
  ['.nacre/config.json', 'the configuration of a workspace, in its topmost folder'],
  [
    '~/.local/state/nacre',
    'artifacts, jobs, history, conversations and audit.jsonl (under $XDG_STATE_HOME where that is set)',
  ],
]

/** The manual page nacre(1), in the language of man(7). */
export function writeManual({ version, date, commands, keys, variables }: ManualParts): string {
  return [
    `.TH NACRE 1 ${date.toISOString().slice(0, 10)} "nacre ${version}"`,
    '.SH NAME',
    'nacre \\- one shell executor for coding agents, scripts and people',
    '.SH SYNOPSIS',
    ...literal([...doors, ...commands.map(({ usage }) => [usage])].map(([usage = '']) => usage)),
    '.SH DESCRIPTION',
    'Whatever runs a command through nacre gets the same thing: a real shell, the complete output on',
    'disk, clean and bounded text, an honest word on how the command ended, and nothing left running.',
    ...doors.flatMap(([usage, description]) => item(bold(usage), description)),
    '.SH OPTIONS',
    ...flagGroups.flatMap(([title, flags, others = []]) => [
      `.SS ${prose(title)}`,
      ...[...flags, ...others].flatMap(option),
    ]),
    '.SH COMMANDS',
    ...commands.flatMap(writeCommand),
    '.SH CONFIGURATION',
    'The files are JSON and may have comments. Variables of the environment win over them, options of the',
    'command line over both. What the file of a workspace may say is told by',
    `${bold('nacre config list')}.`,
    ...keys.flatMap(({ key, description, wanted }) =>
      item(bold(key), `${sentence(description)} Wanted: ${wanted}.`),
    ),
    '.SH ENVIRONMENT',
    'Each of these sets the key that it is named after; a list of paths is parted by colons, what is no',
    'simple value is JSON:',
    `${keys.flatMap(({ variable }) => (variable === null ? [] : bold(variable))).join(',\n')}.`,
    ...Object.entries(variables).flatMap(([name, meaning]) => item(bold(name), meaning)),
    '.SH FILES',
    ...files.flatMap(([path, meaning]) => item(italic(path), meaning)),
    '.SH EXIT STATUS',
    ...exitStatuses.flatMap(([status, meaning]) => item(bold(status), meaning)),
    '.SH EXAMPLES',
    ...literal(examples),
    '.SH SEE ALSO',
    `${bold('bash')}(1), ${bold('bwrap')}(1)`,
    '',
  ].join('\n')
}

function writeCommand(command: DescribedCommand): string[] {
  const { usage, description, details = [], flags } = command
  return [
    `.SS ${verbatim(usage)}`,
    prose(sentence(description)),
    ...writeDetails(details),
    ...flags.flatMap(option),
    '.PP',
    'Examples:',
    ...literal(command.examples),
  ]
}

/** Lines that begin with a space are a table, the others a text. */
function writeDetails(lines: readonly string[]): string[] {
  const isTable = (line: string | undefined) => line?.startsWith(' ') ?? false
  return lines.flatMap((line, index) => {
    if (line === '') return []
    if (isTable(line)) {
      const first = isTable(lines[index - 1]) ? [] : ['.PP', '.EX']
      return [...first, verbatim(line), ...(isTable(lines[index + 1]) ? [] : ['.EE'])]
    }
    const isFirst = index === 0 || lines[index - 1] === '' || isTable(lines[index - 1])
    return [...(isFirst ? ['.PP'] : []), prose(line)]
  })
}

function option({ name, short, shape, description }: Flag): string[] {
  const names = [...(short === undefined ? [] : [bold(`-${short}`)]), bold(`--${name}`)].join(', ')
  return item(shape === null ? names : `${names} ${italic(hintOf(shape))}`, description)
}

/** A word and what it means. */
function item(word: string, meaning: string): string[] {
  return ['.TP', word, prose(sentence(meaning))]
}

function sentence(text: string): string {
  return /[.:!?]$/.test(text) ? text : `${text}.`
}

function literal(lines: readonly string[]): string[] {
  return ['.EX', ...lines.map((line) => `  ${verbatim(line)}`), '.EE']
}

function bold(text: string): string {
  return `\\fB${verbatim(text)}\\fR`
}

function italic(text: string): string {
  return `\\fI${verbatim(text)}\\fR`
}

const special: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
}

/** A text of which every character stays as it is: what is typed. */
function verbatim(text: string): string {
  return beyondAscii(text.replaceAll(/[\\'`^~-]/g, (character) => special[character] ?? ''))
}

/** A text that is read, where `words` are what is typed. */
function prose(text: string): string {
  const parts = text.split(/`([^`]+)`/)
  const written = parts.map((part, index) =>
    index % 2 === 1 ? bold(part) : beyondAscii(part.replaceAll('\\', '\\e')),
  )
  // At the beginning of a line these would be a request to the formatter.
  return written.join('').replace(/^(?=[.'])/, '\\&')
}

function beyondAscii(text: string): string {
  const plain = text.replaceAll('…', '...').replace(/^\./, '\\&.')
  return plain.replaceAll(/[^\0-\x7f]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\[u${code.toString(16).toUpperCase().padStart(4, '0')}]`
  })
}
