import type { Command, Function, ParsedScript, Redirection, Word } from 'unbash'
import type { Interpreter } from './interpreter.ts'
import type { Scope } from './scope.ts'
import type { WordHost } from './word.ts'

/** Where a command reads and writes. */
export interface Channels {
  /** What it reads; null: not from this command. */
  readonly stdin: string | null
  /** The files that are opened for writing. */
  readonly writes: readonly string[]
  /** Whether anything is redirected or piped in. */
  readonly redirected: boolean
}

/** What the redirections of a command come to. */
export interface Streams extends Channels {
  /** Hands what the command prints to where it goes; gives what is left for the next one. */
  finish(output: string): string
}

/** The one who reads a script, as its nodes are walked. */
export interface Reader extends Interpreter, WordHost {
  /** The text that positions of nodes refer to. */
  readonly source: string
  expand(word: Word, scope: Scope): string[][]
  runParsed(script: ParsedScript, scope: Scope, stdin: string | null): string
  runCommand(node: Command, scope: Scope, stdin: string | null): string
  /** Resolves the name of a command that is split into words, tells the rules, follows it. */
  start(words: readonly string[], scope: Scope, channels: Channels): string
  redirect(redirects: readonly Redirection[], scope: Scope, stdin: string | null): Streams
  sawWrites(writes: readonly string[], scope: Scope): void
  sawFunction(name: string, node: Function): void
  /** Reads what lies inside another command, unless that is too deep: then it is in doubt. */
  nested(read: () => string): string
  /** Reads a part whose commands are not on their own: a pipeline, a loop. */
  aside<T>(read: () => T): T
  /** Reads the body of a loop a second time, unless loops are nested too deeply for that. */
  again(read: () => string): string
}
