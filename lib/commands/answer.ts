import type { CommandContext } from '../doors/command.ts'
import { type Flag, option, toggle } from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'
import { toWire, toSnakeCase } from '../protocol/wire.ts'

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

/** The fields of a query as options. */
export function fieldFlags(fields: shape.Fields): Flag[] {
  return Object.entries(fields).map(([name, field]) =>
    option(toSnakeCase(name).replaceAll('_', '-'), field, field.description ?? ''),
  )
}
