import type { Scope } from './scope.ts'

/** What the reading of one command may ask for: to read further commands that it would start. */
export interface Interpreter {
  /** Reads the text of a script; gives what it prints, as far as known. */
  runScript(source: string, scope: Scope, stdin: string | null): string
  /** Reads one command that is already split into words. */
  runWords(words: readonly string[], scope: Scope, stdin: string | null): string
  /** Reads a script at the end, in the scope as it is then. */
  later(source: string, scope: Scope): void
  /** Notes what is written into a file, or hands it to the `>(…)` that the path stands for. */
  write(path: string, text: string, scope: Scope): void
  /** The text of a file that the command itself wrote, or what a `<(…)` prints; null: not known. */
  readFile(path: string, scope: Scope): string | null
  /** Reads what is a command only perhaps: findings that depend on something unknown are dropped. */
  onlyWhatIsCertain(read: () => void): void
  sawForkBomb(): void
}

/** One command as it would be started. */
export interface Call {
  /** The name without its folder. */
  readonly name: string
  /** The name as given, then the arguments. */
  readonly words: readonly string[]
  readonly scope: Scope
  /** What it reads; null: not from this command. */
  readonly stdin: string | null
  readonly interpreter: Interpreter
}

/** Follows a command: changes the scope, reads nested commands, gives what it prints. */
export type Follow = (call: Call) => string
