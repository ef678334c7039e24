import { type Flag, hintOf } from '../../protocol/request/flag.ts'
import type { Shape } from '../../protocol/shape/shape.ts'
import type { Command, IdKind } from '../../doors/command.ts'

/** What can stand on a command line of nacre, as the shells' completions are made from it. */
export interface Grammar {
  /** The options of nacre itself. */
  options: readonly Option[]
  commands: readonly Subcommand[]
}

export interface Subcommand {
  name: string
  description: string
  /** What may be its first word: `list`, `show`, … */
  actions: readonly string[]
  options: readonly Option[]
  /** Behind which of its actions an id stands; null: behind none. */
  ids: { of: IdKind; behind: readonly string[] } | null
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
  | { kind: 'id'; of: IdKind }
  | { kind: 'any'; hint: string }

/** `runFlags` are those that some commands take too. */
export function describeGrammar(
  commands: readonly Command[],
  { flags, runFlags }: Record<'flags' | 'runFlags', readonly Flag[]>,
): Grammar {
  return {
    options: flags.map(toOption),
    commands: [
      ...commands.map((command) => ({
        name: command.name,
        description: command.description,
        actions: actionsOf(command.usage),
        options: [...command.flags, ...(command.takesRunOptions ? runFlags : [])]
          .map(toOption)
          .concat(help),
        ids: command.takesIds ?? null,
      })),
      {
        name: 'help',
        description: 'The help of a command',
        actions: commands.map(({ name }) => name),
        options: [],
        ids: null,
      },
    ],
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

function toOption({ name, short, shape, description }: Flag): Option {
  const names = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
  const repeatable = shape?.kind === 'list' || shape?.kind === 'record'
  return { names, description, value: shape && valueOf(shape), repeatable }
}

function valueOf(shape: Shape): OptionValue {
  if (shape.kind === 'choice') return { kind: 'choice', values: shape.values }
  const hint = hintOf(shape)
  if (hint === 'conversation') return { kind: 'id', of: 'conversations' }
  if (hint === 'dir') return { kind: 'folder' }
  return hint === 'path' || hint === 'program' ? { kind: 'file' } : { kind: 'any', hint }
}
