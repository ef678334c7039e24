import type { Action, Command, CommandContext } from '../doors/command.ts'
import { wrongUsage } from '../protocol/errors.ts'
import { type Flag, option, optionKey, toggle } from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'
import { toSnakeCase, toWire, unknownName } from '../protocol/wire.ts'
import { lowerFirst } from '../protocol/words.ts'

type Actions = Readonly<Record<string, Action>>

interface Described extends Pick<Command, 'name' | 'description' | 'flags' | 'examples'> {
  actions: Actions
  /** The action where the command line names none. */
  usual?: string
  details?: readonly string[]
}

/** A command of several actions, such as `nacre job list`: its usage, options and help come from their table. */
export function createCommand({ usual = '', ...given }: Described): Command {
  const { name, actions, flags, details = [] } = given
  const command = `nacre ${name}`
  const usage = `${command} ${Object.keys(actions).join('|')} …`
  const described = Object.entries(actions).map(([action, { words, description }]) => {
    const line = `  ${[command, action, ...words].join(' ')}`.padEnd(37)
    return `${line} ${description}`
  })
  return {
    ...given,
    usage,
    flags: [...joinFlags(actions), ...flags],
    details: [...described, ...(details.length > 0 ? ['', ...details] : [])],
    run(context) {
      const [action = usual, ...words] = context.positionals
      if (action === '') throw wrongUsage(`Say what to do: ${usage}`)
      const chosen = Object.hasOwn(actions, action) ? actions[action] : undefined
      if (chosen === undefined) throw unknownName('action', action, Object.keys(actions))
      checkFlags(command, action, actions, context.options)
      checkWords(words, chosen.words, `${command} ${action}`)
      return chosen.run(words, context)
    },
  }
}

/** Throws `MisuseError` where the words are not those that are wanted: `<id>`, `[<key>]`, `<id>…`. */
function checkWords(words: readonly string[], wanted: readonly string[], command: string): void {
  const least = wanted.filter((word) => word.startsWith('<')).length
  const most = wanted.some((word) => word.includes('…')) ? Infinity : wanted.length
  if (words.length >= least && words.length <= most) return
  throw wrongUsage(`Usage: ${[command, ...wanted].join(' ')}`)
}

/** The options of all actions, each once and with the actions that have it. */
function joinFlags(actions: Actions): Flag[] {
  const joined = new Map<string, Flag>()
  for (const { flags = [] } of Object.values(actions)) {
    for (const flag of flags) joined.set(flag.name, flag)
  }
  return [...joined.values()].map((flag) => {
    const having = namesHaving(flag.name, actions).join(', ')
    return { ...flag, description: `${having}: ${lowerFirst(flag.description)}` }
  })
}

function namesHaving(flag: string, actions: Actions): string[] {
  const having = Object.entries(actions).filter(([, { flags = [] }]) =>
    flags.some(({ name }) => name === flag),
  )
  return having.map(([name]) => name)
}

/** Throws `MisuseError` where an option was given that this action would pass over. */
function checkFlags(
  command: string,
  action: string,
  actions: Actions,
  options: CommandContext['options'],
): void {
  for (const flag of joinFlags(actions)) {
    if (options[optionKey(flag)] === undefined) continue
    const having = namesHaving(flag.name, actions)
    if (having.includes(action)) continue
    const others = having.map((other) => `\`${command} ${other}\``).join(' and ')
    throw wrongUsage(
      `\`--${flag.name}\` is an option of ${others}, not of \`${command} ${action}\`; leave it out`,
    )
  }
}

export const formatFlag = option(
  'output-format',
  shape.choice(['text', 'json']),
  'How to answer (default text)',
)

/** How a subcommand answers; most take these two. */
export const answerFlags: readonly Flag[] = [
  formatFlag,
  toggle('quiet', 'No messages on stderr', { short: 'q' }),
]

/** What a subcommand answers with. */
type Answering = Pick<CommandContext, 'options' | 'streams'>

export function wantsJson({ options }: Answering): boolean {
  return options['outputFormat'] === 'json'
}

/** Answers with the text, or with the value as a line of JSON in the names of the wire. */
export async function answer(to: Answering, value: unknown, text: string): Promise<void> {
  const json = wantsJson(to) ? `${JSON.stringify(toWire(value))}\n` : text
  await to.streams.stdout.write(json)
}

/** Tells the person who reads, on stderr. */
export async function tell({ options, streams }: Answering, message: string): Promise<void> {
  if (options['quiet'] !== true) await streams.stderr.write(`nacre: ${message}\n`)
}

/** The fields of a query as options. */
export function fieldFlags(fields: shape.Fields): Flag[] {
  return Object.entries(fields).map(([name, field]) =>
    option(toSnakeCase(name).replaceAll('_', '-'), field, field.description ?? ''),
  )
}
