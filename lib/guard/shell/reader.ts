import type { Command, Function, ParsedScript, Redirection, Word } from 'unbash'
import type { Interpreter } from './interpreter.ts'
import type { Scope } from './scope.ts'
import type { WordHost } from './word.ts'

/** What the redirections of a command come to. */
export interface Streams {
  readonly stdin: string | null
  /** The files that are opened for writing. */
  readonly writes: readonly string[]
  /** Hands what the command prints to where it goes; gives what is left for the next one. */
  finish(output: string): string
}

/** The one who reads a script, as its nodes are walked. */
export interface Reader extends Interpreter, WordHost {
  /** The text that positions of nodes refer to. */
  readonly source: string
  expand(word: Word, scope: Scope): string[][]
  parse(source: string): ParsedScript | null
  runParsed(script: ParsedScript, scope: Scope, stdin: string | null): string
  runCommand(node: Command, scope: Scope, stdin: string | null): string
  redirect(redirects: readonly Redirection[], scope: Scope, stdin: string | null): Streams
  sawWrites(writes: readonly string[], scope: Scope): void
  sawFunction(name: string, node: Function): void
  /** False: loops are nested too deeply to read the body twice. */
  enterLoop(): boolean
  leaveLoop(): void
}
