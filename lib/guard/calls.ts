import type { Function } from 'unbash'
import type { CommandTable } from './commands/commands.ts'
import { quote } from './commands/quote.ts'
import type { Frames } from './frames.ts'
import {
  isGlob,
  isKnown,
  matchesGlob,
  obscured,
  unknown,
  withUnknownEmpty,
} from './shell/marked-text.ts'
import { baseName } from './shell/path.ts'
import type { Channels, Reader } from './shell/reader.ts'
import type { Scope, ShellFunction } from './shell/scope.ts'
import { walk } from './shell/walk.ts'
import type { WrittenFiles } from './shell/written-files.ts'

/** So many commands are read, and no more: the verdict is `ask`. */
const maxCommands = 5000

/** What an unknown command name is tried as. */
const likelyNames = ['rm', 'git', 'dd', 'bash', 'sudo']

export interface CallsOptions {
  readonly table: CommandTable
  readonly files: WrittenFiles
  readonly frames: Frames
  readonly reader: Reader
}

/**
 * What the first word of a command stands for: an alias, a function, a script that the command
 * itself wrote, or a program.
 */
export class Calls {
  private readonly options: CallsOptions
  private readonly functions = new Map<Function, { source: string; called: boolean }>()
  /** The names of the functions that are being read, the innermost last. */
  private readonly stack: string[] = []
  private commands = 0

  constructor(options: CallsOptions) {
    this.options = options
  }

  /** Resolves the name, tells the rules of a program, follows what it is; gives what it prints. */
  start(words: readonly string[], scope: Scope, channels: Channels): string {
    const { table, files, frames, reader } = this.options
    const [path] = words
    if (path === undefined) {
      reader.sawWrites(channels.writes, scope)
      return channels.stdin ?? ''
    }
    if (++this.commands > maxCommands) {
      // Also where a guess has used them up: what follows is not read.
      const reason = 'It starts too many commands to read.'
      frames.within({ likelihood: 'runs' }, () => frames.doubt(reason))
      return unknown
    }
    const name = baseName(path)
    if (isGlob(name)) {
      const fitting = table.names.filter((known) => matchesGlob(name, known))
      return this.startAs(fitting, words, scope, channels)
    }
    if (path === obscured && words.length === 1) {
      frames.doubt('A command comes out of a constant in a way that is not followed.')
      return unknown
    }
    if (!isKnown(name)) return this.startUnknown(name, words, scope, channels)
    const alias = scope.aliases.get(path) ?? scope.aliases.get(name)
    if (alias !== undefined) return this.startAlias(alias, words, scope, channels)
    const body = scope.functions.get(path)
    if (body) return this.callFunction(body, words, scope, channels)
    const script = path.includes('/') ? files.read(path, scope) : null
    if (script !== null) {
      const inner = scope.clone()
      inner.parameters = words.slice(1)
      return reader.runScript(script, inner, channels.stdin)
    }
    const { stdin, writes, redirected } = channels
    frames.tell({ name, words, args: words.slice(1), writes, redirected }, scope)
    return table.follow({ name, words, scope, stdin, interpreter: reader })
  }

  /** Notes a function where it is defined. */
  define(node: Function, source: string): void {
    if (!this.functions.has(node)) this.functions.set(node, { source, called: false })
  }

  /** Reads the functions that nobody calls, those that they define too. */
  readUncalled(scope: Scope): void {
    const { frames, reader } = this.options
    for (const [node, { source, called }] of this.functions) {
      if (called) continue
      const frame = { source, likelihood: 'defined', standsAlone: false } as const
      frames.within(frame, () => walk(node.body, scope.clone(), null, reader))
    }
  }

  /** Under each name in turn, since it may be any of them. */
  private startAs(
    names: readonly string[],
    words: readonly string[],
    scope: Scope,
    channels: Channels,
  ): string {
    for (const name of names) this.start([name, ...words.slice(1)], scope.clone(), channels)
    return unknown
  }

  /** Under what is known of the name, or under likely ones: as a guess in both cases. */
  private startUnknown(
    name: string,
    words: readonly string[],
    scope: Scope,
    channels: Channels,
  ): string {
    const { frames } = this.options
    const rest = withUnknownEmpty(name)
    const names = rest === '' ? likelyNames : [rest]
    const outer = frames.current.likelihood
    const likelihood = outer === 'runs' ? 'supposed' : outer
    return frames.within({ likelihood }, () => this.startAs(names, words, scope, channels))
  }

  private startAlias(
    alias: string,
    words: readonly string[],
    scope: Scope,
    { stdin }: Channels,
  ): string {
    const inner = scope.clone()
    const [path = '', ...args] = words
    inner.aliases.delete(path)
    inner.aliases.delete(baseName(path))
    return this.options.reader.runScript([alias, ...args.map(quote)].join(' '), inner, stdin)
  }

  private callFunction(
    { node, source }: ShellFunction,
    words: readonly string[],
    scope: Scope,
    { stdin }: Channels,
  ): string {
    const { frames, reader } = this.options
    const [name = '', ...args] = words
    const known = this.functions.get(node)
    if (known) known.called = true
    if (this.stack.filter((caller) => caller === name).length > 1) return unknown
    this.stack.push(name)
    const before = scope.parameters
    scope.parameters = args
    const frame = { source, standsAlone: false }
    const output = frames.within(frame, () => walk(node.body, scope, stdin, reader))
    scope.parameters = before
    this.stack.pop()
    return output
  }
}
