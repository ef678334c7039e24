import * as shape from '../protocol/shape/shape.ts'
import type { CommandContext } from '../doors/command.ts'
import { type MisuseError, wrongUsage } from '../protocol/errors.ts'
import { type Flag, option, toggle } from '../protocol/request/fields.ts'
import { toWire, unknownName, toSnakeCase } from '../protocol/wire.ts'
import { lowerFirst } from '../protocol/words.ts'

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

/** The action of this name, for a command such as `job list`. Throws `MisuseError`. */
export function chooseAction<Action>(
  actions: Readonly<Record<string, Action>>,
  name: string,
  usage: string,
): Action {
  if (name === '') throw wrongUsage(`Say what to do: ${usage}`)
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (action !== undefined) return action
  throw unknownName('action', name, Object.keys(actions))
}

/** Takes exactly the words that the usage names: `nacre job show <id>`. Throws `MisuseError`, which shows it. */
export function takeWords(words: readonly string[], usage: string): string[] {
  const wanted = usage.match(/<\w+>/g)?.length ?? 0
  if (words.length === wanted) return [...words]
  throw wrongWords(usage)
}

/** Words that are too many, too few, or not what a command takes. */
export function wrongWords(usage: string): MisuseError {
  return wrongUsage(`Write it so: ${usage}`)
}

/** What a subcommand answers with. */
type Answering = Pick<CommandContext, 'options' | 'streams'>

export function wantsJson({ options }: Answering): boolean {
  return options['output-format'] === 'json'
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

/** An option that only some actions of a command have: `job read --tail`. */
export interface ActionFlag extends Flag {
  actions: readonly string[]
}

/** Options of these actions, which their descriptions name. */
export function flagsOf(actions: readonly string[], flags: readonly Flag[]): ActionFlag[] {
  return flags.map((flag) => ({
    ...flag,
    actions,
    description: `${actions.join(', ')}: ${lowerFirst(flag.description)}`,
  }))
}

/** The fields of a query as options. */
export function fieldFlags(fields: shape.Fields): Flag[] {
  return Object.entries(fields).map(([name, field]) =>
    option(toSnakeCase(name).replaceAll('_', '-'), field, field.description ?? ''),
  )
}

/** Throws `MisuseError` where an option was given that this action would pass over. */
export function checkActionFlags(
  command: string,
  action: string,
  flags: readonly (Flag | ActionFlag)[],
  options: Readonly<Record<string, unknown>>,
): void {
  for (const flag of flags) {
    if (!('actions' in flag) || options[flag.name] === undefined) continue
    if (flag.actions.includes(action)) continue
    const others = flag.actions.map((other) => `\`${command} ${other}\``).join(' and ')
    throw wrongUsage(
      `\`--${flag.name}\` is an option of ${others}, not of \`${command} ${action}\`; leave it out`,
    )
  }
}
