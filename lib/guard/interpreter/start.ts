import type { CommandTable } from '../commands/commands.ts'
import type { Scope } from '../shell/scope.ts'
import { baseName, empty, obscured, quote, Text, unknown } from '../shell/text.ts'
import type { Channels, Reader } from './context.ts'
import type { Functions } from './functions.ts'

/** What an unknown command name is tried as. */
const likelyNames = ['rm', 'git', 'dd', 'bash', 'sudo'].map((name) => new Text(name))

/** What the first word of a command may name, beside an alias and a file. */
export interface Programs {
  readonly reader: Reader
  readonly functions: Functions
  readonly table: CommandTable
}

/** Resolves the name, tells the rules of a program, follows what it is; gives what it prints. */
export function start(
  words: readonly Text[],
  scope: Scope,
  channels: Channels,
  programs: Programs,
): Text {
  const { reader, functions, table } = programs
  const { context } = reader
  const [path] = words
  if (path === undefined) {
    context.tellWrites(channels.writes, scope)
    return channels.stdin ?? empty
  }
  context.effort.spendOn('command', 1)
  context.effort.spendOnTexts(words)
  if (context.effort.isSpent) return unknown
  const base = baseName(path)
  const { stdin } = channels
  const read = (file: Text) => (file.is('-') ? stdin : reader.readFile(file, scope))
  if (base.isGlob || !base.isKnown) {
    // What it starts is not known, and no rule that lists what is allowed can list it.
    context.supposed(() => context.tell('', words, channels, scope, read))
  }
  if (base.isGlob) {
    const fitting = table.listNames().filter((known) => base.matches(known))
    const names = fitting.map((known) => new Text(known))
    return startAs(names, words, scope, channels, programs)
  }
  if (path.equals(obscured) && words.length === 1) {
    context.doubt('A command comes out of a constant in a way that is not followed.')
    return unknown
  }
  if (!base.isKnown) {
    const rest = base.withUnknownEmpty()
    const names = rest.length === 0 ? likelyNames : [rest]
    return context.supposed(() => startAs(names, words, scope, channels, programs))
  }
  const name = base.chars
  const args = words.slice(1)
  const alias = scope.aliases.get(path.chars) ?? scope.aliases.get(name)
  if (alias !== undefined) {
    const inner = scope.clone()
    inner.aliases.delete(path.chars)
    inner.aliases.delete(name)
    return reader.runScript(Text.join([alias, ...args.map(quote)], ' '), inner, stdin)
  }
  const body = scope.functions.get(path.chars)
  if (body) return functions.call(path.chars, body, args, scope, stdin, reader)
  const script = path.includes('/') ? reader.readFile(path, scope) : null
  if (script !== null) {
    const inner = scope.clone()
    inner.parameters = args
    return reader.runScript(script, inner, stdin)
  }
  context.tell(name, words, channels, scope, read)
  return table.follow({ name, words, args, scope, stdin, shell: reader })
}

/** Starts an unknown command under each name in turn, since it may be any of them. */
function startAs(
  names: readonly Text[],
  words: readonly Text[],
  scope: Scope,
  channels: Channels,
  programs: Programs,
): Text {
  for (const name of names) start([name, ...words.slice(1)], scope.clone(), channels, programs)
  return unknown
}
