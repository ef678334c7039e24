import type { Command, CommandFlag } from '../command.ts'

/** What can stand on a command line of nacre, as the shells' completions are made from it. */
export interface Grammar {
  /** Of nacre itself. */
  options: readonly Option[]
  commands: readonly Subcommand[]
}

export interface Subcommand {
  name: string
  description: string
  /** What may be its first word: `list`, `show`, … */
  actions: readonly string[]
  options: readonly Option[]
}

export interface Option {
  /** `--context`, `-C`. */
  names: readonly string[]
  description: string
  /** Null: it takes no value. */
  value: OptionValue | null
  repeatable: boolean
}

export type OptionValue =
  | { kind: 'choice'; values: readonly string[] }
  | { kind: 'folder' }
  | { kind: 'file' }
  | { kind: 'any'; hint: string }

/** `runFlags` are those that some commands take too. */
export function describeGrammar(
  commands: readonly Command[],
  { flags, runFlags }: Record<'flags' | 'runFlags', readonly CommandFlag[]>,
): Grammar {
  return {
    options: flags.map(toOption),
    commands: commands.map(({ name, description, usage, flags: own, takesRunOptions }) => ({
      name,
      description,
      actions: actionsOf(usage),
      options: [...own, ...(takesRunOptions ? runFlags : [])].map(toOption).concat(help),
    })),
  }
}

const help: Option = {
  names: ['--help', '-h'],
  description: 'Show this help',
  value: null,
  repeatable: false,
}

const choices = /^[\w-]+(?:\|[\w-]+)+$/

/** `nacre job list|show …` names them. */
function actionsOf(usage: string): string[] {
  const [, , word = ''] = usage.split(' ')
  return choices.test(word) ? word.split('|') : []
}

function toOption({ name, short, hint, type, description, repeatable }: CommandFlag): Option {
  const names = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
  return { names, description, value: valueOf(hint, type), repeatable: repeatable === true }
}

function valueOf(hint: string | null, type: CommandFlag['type']): OptionValue | null {
  if (hint === null) return null
  if (type?.kind === 'choice') return { kind: 'choice', values: type.values }
  if (choices.test(hint)) return { kind: 'choice', values: hint.split('|') }
  if (hint === 'dir') return { kind: 'folder' }
  return hint === 'path' ? { kind: 'file' } : { kind: 'any', hint }
}
