import type { Executor } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { toWire } from '../../protocol/wire.ts'
import type { Streams } from '../../doors/streams.ts'

/** One thing that `nacre artifact` does. Gives the exit status. */
export type Action = (context: ActionContext) => Promise<number>

export interface ActionContext {
  artifacts: NonNullable<Executor['artifacts']>
  /** What stands after the action's name. */
  words: readonly string[]
  /** The options with a number, by their names. */
  numbers: Readonly<Record<string, number | undefined>>
  has(flag: string): boolean
  asJson: boolean
  streams: Streams
  /** To the person who reads, on stderr. */
  tell: (message: string) => Promise<void>
}

/** Takes exactly the words that are named. Throws `MisuseError` that shows how it is written. */
export function takeWords(words: readonly string[], usage: string): string[] {
  const wanted = usage.match(/<\w+>/g)?.length ?? 0
  if (words.length === wanted) return [...words]
  throw new MisuseError('wrong_usage', `Write it so: nacre artifact ${usage}`)
}

export async function printJson({ stdout }: Streams, value: unknown): Promise<void> {
  await stdout.write(`${JSON.stringify(toWire(value))}\n`)
}
