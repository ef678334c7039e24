import type { Scope } from '../shell/scope.ts'
import type { Text } from '../shell/text.ts'

/** What the reading of one command may ask of the interpreter. */
export interface Shell {
  /** Reads the text of a script; gives what it prints, as far as known. */
  runScript(source: Text, scope: Scope, stdin: Text | null): Text
  /** Reads one command that is already split into words. */
  runWords(words: readonly Text[], scope: Scope, stdin: Text | null): Text
  /** Reads a script at the end, in the scope as it is then. */
  later(source: Text, scope: Scope): void
  /** Notes what is written into a file. */
  write(path: Text, text: Text, scope: Scope): void
  /** The text of a file that the command itself wrote, or what a `<(…)` prints; null: not known. */
  readFile(path: Text, scope: Scope): Text | null
  /** Reads what is a command only perhaps: findings that depend on something unknown are dropped. */
  onlyWhatIsCertain(read: () => void): void
}

/** One command as it would be started. */
export interface Call {
  /** The name without its folder. */
  readonly name: string
  /** The name as given, then the arguments. */
  readonly words: readonly Text[]
  readonly args: readonly Text[]
  readonly scope: Scope
  /** What the command reads, as far as it is known; null: it does not come from this command. */
  readonly stdin: Text | null
  readonly shell: Shell
}

/** Follows a command: changes the scope, reads nested commands, gives what it prints. */
export type Follow = (call: Call) => Text

/** How each command is followed, by its name. */
export type Commands = ReadonlyMap<string, Follow>
