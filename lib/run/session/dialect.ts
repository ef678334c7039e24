/** Options that are off between runs. */
export const suspendedOptions = 'aekvx'

/** What differs between the shells that keep sessions. */
export interface SessionDialect {
  /** The program of the session's shell. */
  compose(options: ProgramOptions): SessionProgram
  /** A last line that asks for `$_`, `$?` and every stage of the last pipeline. */
  ask: string
  /** `$_` of the run before, as a word. */
  lastArgument: string
  /** Whether a stopped command can be left without leaving the shell. */
  survivesStop: boolean
  /**
   * Sets and exports a variable for one command, and keeps what was there. (`NAME=value eval …` would be
   * the shell's own word for that, but bash 5.2 forgets it after the first command of the text.)
   */
  lendVariable: (name: string, quotedValue: string) => string
  /** Gives back what `lendVariable` kept, where it did. */
  restoreVariable: (name: string) => string
}

export interface ProgramOptions {
  /** The file that holds the command of a turn. */
  turnPath: string
  cwd: string
  /** `OLDPWD` at the start, so that `cd -` is as it was. */
  oldCwd: string | undefined
  /** The user's own set-up, or nothing. */
  setUp: string
  login: boolean
}

export interface SessionProgram {
  args: string[]
  /** What the shell reads from a file in its first directory; its name is the last of `args`. */
  script: { text: string; lines: number; line: (number: number) => string }
}
