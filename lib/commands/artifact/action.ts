import type { Executor } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { CommandContext } from '../../doors/command.ts'

/** One thing that `nacre artifact` does. Gives the exit status. */
export type Action = (context: ActionContext) => Promise<number>

export interface ActionContext extends Pick<CommandContext, 'options' | 'streams'> {
  artifacts: NonNullable<Executor['artifacts']>
  /** What stands after the action's name. */
  words: readonly string[]
  /** The options with a number, by their names. */
  numbers: Readonly<Record<string, number | undefined>>
}

/** Takes exactly the words that are named. Throws `MisuseError` that shows how it is written. */
export function takeWords(words: readonly string[], usage: string): string[] {
  const wanted = usage.match(/<\w+>/g)?.length ?? 0
  if (words.length === wanted) return [...words]
  throw new MisuseError('wrong_usage', `Write it so: nacre artifact ${usage}`)
}
