import type { IdKind } from '../../doors/command.ts'
import type { Grammar, Option, OptionValue } from './grammar.ts'

/** A completion for fish. */
export function writeFish({ options, commands }: Grammar): string {
  const names = commands.map(({ name }) => name).join(' ')
  const root = quote(`not __fish_seen_subcommand_from ${names}`)
  const lines = commands.flatMap(({ name, description, actions, options: own, ids }) => {
    const within = quote(
      `__fish_seen_subcommand_from ${name}` +
        (actions.length > 0 ? `; and not __fish_seen_subcommand_from ${actions.join(' ')}` : ''),
    )
    const anywhere = quote(`__fish_seen_subcommand_from ${name}`)
    return [
      `complete -c nacre -n __fish_use_subcommand -a ${name} -d ${quote(description)}`,
      ...(actions.length > 0
        ? [`complete -c nacre -n ${within} -a ${quote(actions.join(' '))}`]
        : []),
      ...(ids === null
        ? []
        : [
            `complete -c nacre -n ${quote(
              `__fish_seen_subcommand_from ${name}; and __fish_seen_subcommand_from ${ids.behind.join(' ')}; and not string match -q -- '-*' (commandline -ct)`,
            )} -a '${writeIds(ids.of)}'`,
          ]),
      ...own.map((option) => writeOption(anywhere, option)),
    ]
  })
  return [
    '# nacre completion for fish: nacre completion fish | source',
    'complete -c nacre -e',
    'complete -c nacre -f',
    // A script: its name is offered once it begins as a path.
    `complete -c nacre -n '__fish_use_subcommand; and string match -q -- "*/*" (commandline -ct)' -F`,
    ...options.map((option) => writeOption(root, option)),
    ...lines,
    '',
  ].join('\n')
}

function writeOption(condition: string, { names, description, value }: Option): string {
  const words = names.map((name) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
  )
  const parts = [`complete -c nacre -n ${condition}`, ...words, writeValue(value)]
  return `${parts.filter(Boolean).join(' ')} -d ${quote(description)}`
}

function writeValue(value: OptionValue | null): string {
  switch (value?.kind) {
    case undefined:
      return ''
    case 'choice':
      return `-xa ${quote(value.values.join(' '))}`
    case 'folder':
      return `-xa '(__fish_complete_directories)'`
    case 'id':
      return `-xa '${writeIds(value.of)}'`
    case 'file':
      return '-rF'
    case 'any':
      return '-x'
  }
}

function writeIds(kind: IdKind): string {
  return `(command nacre completion ids ${kind} 2>/dev/null)`
}

function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`
}
