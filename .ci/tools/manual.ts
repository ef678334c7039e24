/** The manual page nacre(1), which the build writes to `dist/nacre.1` from the tables of the help. */
import {
  commandSections,
  doors,
  type Item,
  lastSections,
  optionSections,
  type Section,
  writeSection,
} from '../../lib/cli/help.ts'
import { listCommands } from '../../lib/commands/commands.ts'
import { otherVariables } from '../../lib/config/configuration.ts'
import { reportKeys } from '../../lib/config/keys.ts'
import { version } from '../../lib/protocol/wire.ts'

const files: readonly Item[] = [
  ['~/.config/nacre/config.json', 'the configuration (under $XDG_CONFIG_HOME where that is set)'],
  ['.nacre/config.json', 'the configuration of a workspace, in its topmost folder'],
  [
    '~/.local/state/nacre',
    'artifacts, jobs, history, conversations and audit.jsonl (under $XDG_STATE_HOME where that is set)',
  ],
]

/** In the language of man(7). */
export async function makeManual(): Promise<string> {
  const commands = await listCommands()
  const keys = reportKeys([], {})
  const sections: Section[] = [
    { title: 'Synopsis', items: doors },
    ...optionSections,
    ...commands.map((command) => ({
      title: command.usage.split(' ', 2).join(' '),
      lines: [
        command.usage,
        '',
        command.description,
        '',
        ...commandSections(command).map(writeSection),
      ],
    })),
    {
      title: 'Configuration',
      items: keys.map(({ key, description, wanted }) => [key, `${description}: ${wanted}`]),
    },
    {
      title: 'Environment',
      items: [
        ...Object.entries(otherVariables),
        ...keys.flatMap(({ key, variable }): Item[] =>
          variable === null ? [] : [[variable, `sets the key ${key}`]],
        ),
      ],
    },
    { title: 'Files', items: files },
    ...lastSections,
  ]
  return [
    `.TH NACRE 1 ${new Date().toISOString().slice(0, 10)} "nacre ${version}"`,
    '.SH NAME',
    'nacre \\- one shell executor for coding agents, scripts and people',
    ...sections.flatMap(({ title, ...section }) => [
      `.SH ${verbatim(title.toUpperCase())}`,
      '.EX',
      ...writeSection({ title: '', ...section })
        .trimEnd()
        .split('\n')
        .map(verbatim),
      '.EE',
    ]),
    '.SH SEE ALSO',
    '\\fBbash\\fR(1), \\fBbwrap\\fR(1)',
    '',
  ].join('\n')
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
