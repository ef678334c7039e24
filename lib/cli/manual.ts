import type { ConfiguredKey } from '../protocol/configuration.ts'
import {
  commandSections,
  type DescribedCommand,
  doors,
  lastSections,
  optionSections,
  type Section,
} from './help.ts'

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

const files = [
  ['~/.config/nacre/config.json', 'the configuration (under $XDG_CONFIG_HOME where that is set)'],
  ['.nacre/config.json', 'the configuration of a workspace, in its topmost folder'],
  [
    '~/.local/state/nacre',
    'artifacts, jobs, history, conversations and audit.jsonl (under $XDG_STATE_HOME where that is set)',
  ],
] as const

/** The manual page nacre(1), in the language of man(7): what the help says, and what the configuration holds. */
export function writeManual({ version, date, commands, keys, variables }: ManualParts): string {
  const keyItems = keys.map(
    ({ key, description, wanted }) => [key, `${sentence(description)} Wanted: ${wanted}.`] as const,
  )
  const keyVariables = keys.flatMap(({ variable }) => variable ?? [])
  return [
    `.TH NACRE 1 ${date.toISOString().slice(0, 10)} "nacre ${version}"`,
    '.SH NAME',
    'nacre \\- one shell executor for coding agents, scripts and people',
    ...writeSection({ title: 'Synopsis', items: doors }),
    '.SH OPTIONS',
    ...optionSections.flatMap((section) => writeSection(section, '.SS')),
    '.SH COMMANDS',
    ...commands.flatMap((command) => [
      `.SS ${verbatim(command.usage)}`,
      verbatim(sentence(command.description)),
      ...commandSections(command).flatMap((section) => writeSection(section, null)),
    ]),
    ...writeSection({ title: 'Configuration', items: keyItems }),
    ...writeSection({
      title: 'Environment',
      items: [
        ...Object.entries(variables),
        [
          keyVariables.join(', '),
          'each sets the key that it is named after; a list of paths is parted by colons, what is no simple value is JSON',
        ],
      ],
    }),
    ...writeSection({ title: 'Files', items: files }),
    ...lastSections.flatMap((section) => writeSection(section)),
    '.SH SEE ALSO',
    '\\fBbash\\fR(1), \\fBbwrap\\fR(1)',
    '',
  ].join('\n')
}

/** `heading`: the request for its title; null: it stands in a line of its own. */
function writeSection(
  { title, lines = [], items = [] }: Section,
  heading: '.SH' | '.SS' | null = '.SH',
): string[] {
  const name = verbatim(heading === '.SH' ? title.toUpperCase() : title)
  return [
    ...(heading === null ? ['.PP', ...(title === '' ? [] : [`${name}:`])] : [`${heading} ${name}`]),
    ...(lines.length === 0 ? [] : ['.EX', ...lines.map(verbatim), '.EE']),
    ...items.flatMap(([words, meaning]) => [
      '.TP',
      `\\fB${verbatim(words.trim())}\\fR`,
      verbatim(sentence(meaning)),
    ]),
  ]
}

function sentence(text: string): string {
  return /[.:!?]$/.test(text) ? text : `${text}.`
}

const special: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
}

/** A text of which every character stays as it is. */
function verbatim(text: string): string {
  const plain = text
    .replaceAll('…', '...')
    .replaceAll(/[\\'`^~-]/g, (character) => special[character] ?? '')
    // At the beginning of a line it would be a request to the formatter.
    .replace(/^\./, '\\&.')
  return plain.replaceAll(/[^\0-\x7f]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\[u${code.toString(16).toUpperCase().padStart(4, '0')}]`
  })
}
