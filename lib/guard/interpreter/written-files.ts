import type { ParsedScript } from 'unbash'
import type { Scope } from '../shell/scope.ts'
import { absoluteNames, empty, Text, unknown } from '../shell/text.ts'

/** The first descriptor of the paths for `<(…)`. bash counts down from here, and these count up. */
const firstDescriptor = 63

/** The files that the command itself writes, and the paths that stand for `<(…)` and `>(…)`. */
export class WrittenFiles {
  /** By the path. */
  private readonly texts = new Map<string, Text>()
  /** The scripts of `>(…)`, by the path that stands for each. */
  private readonly consumers = new Map<string, ParsedScript>()
  private processes = 0

  read(path: Text, scope: Scope): Text | null {
    return this.texts.size === 0 ? null : (this.texts.get(keyOf(path, scope)) ?? null)
  }

  write(path: Text, text: Text, scope: Scope): void {
    if (text.length > 0 && !text.equals(unknown)) this.texts.set(keyOf(path, scope), text)
  }

  /** Makes a path for `<(…)`, or for `>(…)` with the script that reads what is written there. */
  addProcess(consumer: ParsedScript | null): Text {
    const path = new Text(`/dev/fd/${firstDescriptor + this.processes++}`)
    if (consumer) this.consumers.set(path.chars, consumer)
    return path
  }

  consumerOf(path: Text): ParsedScript | null {
    return this.consumers.get(path.chars) ?? null
  }
}

const keyOf = (path: Text, { directories: [directory = empty] }: Scope): string =>
  Text.join(absoluteNames(path, directory), '/').key
