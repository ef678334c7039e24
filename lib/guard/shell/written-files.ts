import { unknown } from './marked-text.ts'
import { absoluteNames } from './path.ts'
import type { Scope } from './scope.ts'

/** What the command itself has written into files: a script that it makes and then runs. */
export class WrittenFiles {
  private readonly texts = new Map<string, string>()

  /** The text of a file, as far as the command wrote it; null: not from this command. */
  read(path: string, scope: Scope): string | null {
    return this.texts.get(keyOf(path, scope)) ?? null
  }

  write(path: string, text: string, scope: Scope, append = false): void {
    if (text === '' || text === unknown) return
    const key = keyOf(path, scope)
    this.texts.set(key, (append ? (this.texts.get(key) ?? '') : '') + text)
  }
}

const keyOf = (path: string, { directories: [directory = ''] }: Scope): string =>
  absoluteNames(path, directory).join('/')
