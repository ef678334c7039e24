import type { CommandContext } from '../doors/command.ts'
import { type MisuseError, wrongUsage } from '../protocol/errors.ts'
import { type Flag, option, toggle } from '../protocol/request/flag.ts'
import * as shape from '../protocol/shape/shape.ts'
import { toWire, unknownName } from '../protocol/wire.ts'

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
