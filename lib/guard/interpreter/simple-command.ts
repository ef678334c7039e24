import type { CommandTable } from '../commands/commands.ts'
import type { Scope, ShellFunction } from '../shell/scope.ts'
import { empty, Text, unknown, baseName, obscured, quote } from '../shell/text.ts'
import { expandParts, expandText, expandWord } from '../shell/word.ts'
import type { Channels, Reader } from './context.ts'
import type {
  ProcessSubstitutionPart,
  Redirection,
  Word,
  Assignment,
  Command,
  Function,
} from 'unbash'

/** What the redirections of a command come to. */
export interface Streams extends Channels {
  /** Hands what the command prints to where it goes; gives what is left for the next one. */
  finish(output: Text): Text
}

/** Opens what the redirections name. `stdin` is what the command would read without them. */
export function redirect(
  redirects: readonly Redirection[],
  scope: Scope,
  stdin: Text | null,
  reader: Reader,
): Streams {
  if (redirects.length === 0) {
    return { stdin, writes: [], redirected: stdin !== null, finish: (output) => output }
  }
  let input = stdin
  let stdoutGoesAway = false
  const writes: Text[] = []
  const consumers: ProcessSubstitutionPart[] = []
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') {
      // bash warns, and reads on to the end of something else than the parser.
      if (!redirect.closing) reader.doubt('A here-document in it does not end.')
      const { parts, text } = redirect.body
      input = parts ? expandParts(parts, scope, reader) : Text.parsed(text)
      continue
    }
    const { target } = redirect
    if (!target) continue
    if (redirect.type === 'HereString') {
      input = Text.join([Text.join(expandText(target, scope, reader), '\n'), '\n'])
      continue
    }
    const consumer = redirect.operator.includes('>') ? consumerOf(target) : null
    if (consumer) {
      consumers.push(consumer)
      continue
    }
    const targets = expandWord(target, scope, reader).map((fields) => Text.join(fields, ' '))
    const [first = empty] = targets
    if (redirect.operator.startsWith('<') && redirect.operator !== '<>') {
      if (redirect.operator === '<') input = reader.readFile(first, scope)
      continue
    }
    const isDuplicate = redirect.operator === '>&' && first.test(/^[\d-]+$/)
    if (!isDuplicate) writes.push(...targets)
    const { descriptor } = redirect
    const isStdout = descriptor?.type !== 'FileDescriptor' || descriptor.value === 1
    if (isStdout && redirect.operator !== '<>' && !first.is('1')) stdoutGoesAway = true
  }
  return {
    stdin: input,
    writes,
    redirected: true,
    finish: (output) => {
      for (const { script } of consumers) {
        if (script) reader.runParsed(script, scope.clone(), output)
      }
      if (stdoutGoesAway) for (const path of writes) reader.write(path, output, scope)
      const isPassedOn = !stdoutGoesAway || writes.some((path) => path.is('/dev/stdout'))
      return consumers.length === 0 && isPassedOn ? output : empty
    },
  }
}

function consumerOf(target: Word): ProcessSubstitutionPart | null {
  const part = target.parts?.[0]
  return part?.type === 'ProcessSubstitution' && part.operator === '>' ? part : null
}

/** How many readings of one command are followed one by one. */
const maxReadings = 24

/** Every list of words that the command may be started with. */
export function readArguments({ name, suffix }: Command, scope: Scope, reader: Reader): Text[][] {
  const expand = (word: Word, position: number): Text[][] =>
    withAbsent(word, position, expandWord(word, scope, reader))
  const words = name ? [expand(name, 0)] : []
  for (const part of suffix) {
    if (part.type === 'Word') words.push(expand(part, words.length))
    else if (part.type === 'Assignment') {
      // `export a=1`: the builtin assigns, from its word; only an array cannot be written as one.
      const trial = scope.clone()
      assign(part, trial, reader)
      const variable = trial.variables.get(part.name)
      if (variable?.elements) scope.variables.set(part.name, variable)
      else {
        const values = variable?.values ?? []
        words.push(values.map((value) => [Text.join([`${part.name}=`, value])]))
      }
    }
  }
  return combine(words)
}

/** Assigns as the shell does, to a variable, an array or one element of it. */
export function assign(
  { name, value, append, index }: Assignment,
  scope: Scope,
  reader: Reader,
): void {
  if (index) reader.visit(index, scope)
  const old = scope.variables.get(name)
  if (value.type === 'ArrayValue') {
    const elements = value.elements.flatMap((word) => {
      const hasSubscript = /^\[[^\]]*\]=/.test(word.text)
      const fields = expandWord(word, scope, reader).flat()
      if (!hasSubscript) return fields
      return fields.map((field) => field.slice(field.chars.indexOf(']=') + 2))
    })
    const before = append ? (old?.elements ?? old?.values ?? []) : []
    scope.assignElements(name, [...before, ...elements])
    return
  }
  const values = expandText(value, scope, reader)
  if (index) {
    scope.assignElements(name, [...(old?.elements ?? []), ...values])
    return
  }
  const before = append && old ? old.values : [empty]
  scope.assign(
    name,
    before.flatMap((start) => values.map((text) => Text.join([start, text]))),
  )
}

/**
 * An unknown value without quotes may be no word at all: `$SUDO rm`, `git $OPTIONS push`. That
 * matters where the next word would then be the command, or the subcommand.
 */
function withAbsent(word: Word, position: number, readings: Text[][]): Text[][] {
  const isQuoted = word.parts?.[0]?.type === 'DoubleQuoted'
  const [fields, ...others] = readings
  const isUnknown = others.length === 0 && fields?.length === 1 && fields[0]?.equals(unknown)
  return isUnknown && !isQuoted && position <= 3 ? [[unknown], []] : readings
}

/** Every argv that the words may turn out to be; above a limit all readings of a word in one. */
function combine(words: readonly Text[][][]): Text[][] {
  const total = words.reduce((product, readings) => product * readings.length, 1)
  let argvs: Text[][] = [[]]
  for (const [index, readings] of words.entries()) {
    const choices = total > maxReadings && index > 0 ? [readings.flat()] : readings
    const [only] = choices
    if (choices.length === 1 && only) {
      // In place: one copy for each word would be quadratic.
      for (const argv of argvs) for (const field of only) argv.push(field)
    } else argvs = argvs.flatMap((argv) => choices.map((fields) => argv.concat(fields)))
  }
  return argvs
}

/** The functions that the command defines, and which of them it calls. */
export class Functions {
  private readonly known = new Map<Function, { source: string; called: boolean }>()
  /** The names of the functions that are being read, the innermost last. */
  private readonly callers: string[] = []

  define(name: string, node: Function, scope: Scope, source: string): void {
    scope.functions.set(name, { node, source })
    if (!this.known.has(node)) this.known.set(node, { source, called: false })
  }

  call(
    name: string,
    { node, source }: ShellFunction,
    args: readonly Text[],
    scope: Scope,
    stdin: Text | null,
    reader: Reader,
  ): Text {
    const known = this.known.get(node)
    if (known) known.called = true
    if (this.callers.filter((caller) => caller === name).length > 1) return unknown
    this.callers.push(name)
    const before = scope.parameters
    scope.parameters = args
    const frame = { source, standsAlone: false }
    const output = reader.context.within(frame, () => reader.walk(node.body, scope, stdin))
    scope.parameters = before
    this.callers.pop()
    return output
  }

  /** Reads the functions that nobody calls, those that they define too. */
  readUncalled(scope: Scope, reader: Reader): void {
    for (const [{ body }, { source, called }] of this.known) {
      if (called) continue
      const frame = { source, likelihood: 'defined', standsAlone: false } as const
      reader.context.within(frame, () => reader.walk(body, scope.clone(), null))
    }
  }
}

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
