import { followCommand } from '../commands/commands.ts'
import type { Scope } from '../shell/scope.ts'
import { empty, Text, unknown, baseName, obscured, quote } from '../shell/text.ts'
import { expandParts, expandText, expandWord } from '../shell/word.ts'
import type { Channels, Reader } from './context.ts'
import type { Assignment, Command, Redirection, Word } from 'unbash'

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
      if (stdoutGoesAway) for (const path of writes) reader.write(path, output, scope)
      return stdoutGoesAway && !writes.some((path) => path.is('/dev/stdout')) ? empty : output
    },
  }
}

/** How many readings of one command are followed one by one. */
const maxReadings = 24

/** Every list of words that the command may be started with. */
export function readArguments({ name, suffix }: Command, scope: Scope, reader: Reader): Text[][] {
  const words = name ? [expandWord(name, scope, reader)] : []
  for (const part of suffix) {
    if (part.type === 'Word') words.push(expandWord(part, scope, reader))
    else if (part.type === 'Assignment' && part.value.type === 'ArrayValue') {
      assign(part, scope, reader)
    } else if (part.type === 'Assignment') {
      // `export a=1`: the builtin assigns, from its word.
      const start = `${part.name}${part.append ? '+' : ''}=`
      const values = expandText(part.value as Word, scope, reader)
      words.push(values.map((value) => [Text.join([start, value])]))
    }
  }
  return combine(words)
}

/** Assigns as the shell does, to a variable or an array, in which all elements are alike. */
export function assign(
  { name, value, append, index }: Assignment,
  scope: Scope,
  reader: Reader,
): void {
  if (index) reader.visit(index, scope)
  const old = append || index ? scope.variables.get(name) : undefined
  if (value.type === 'ArrayValue' || index) {
    const words = value.type === 'ArrayValue' ? value.elements : [value]
    const elements = words.flatMap((word) => expandWord(word, scope, reader).flat())
    const plain = elements.map((element) => element.replace(/^\[[^\]]*\]=/g, () => ''))
    scope.assign(name, [...(old ?? []), ...plain])
    return
  }
  const values = expandText(value, scope, reader)
  const before = old ?? [empty]
  scope.assign(
    name,
    before.flatMap((start) => values.map((text) => Text.join([start, text]))),
  )
}

/** Every argv that the words may turn out to be; above a limit all readings of a word in one. */
function combine(words: readonly Text[][][]): Text[][] {
  const total = words.reduce((product, readings) => product * readings.length, 1)
  if (total === 1) return [words.flat(2)]
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

/** What an unknown command name is tried as. */
const likelyNames = ['rm', 'git', 'dd', 'bash', 'sudo'].map((name) => new Text(name))

/** Resolves the name, tells the rules of a program, follows what it is; gives what it prints. */
export function start(
  words: readonly Text[],
  scope: Scope,
  channels: Channels,
  reader: Reader,
): Text {
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
  if (path.equals(obscured) && words.length === 1) {
    context.doubt('A command comes out of a constant in a way that is not followed.')
    return unknown
  }
  if (path.beginsWith('n')) context.tellFetched(scope)
  if (base.isGlob || !base.isKnown) {
    const rest = base.withUnknownEmpty()
    const names = base.isGlob || rest.length === 0 ? likelyNames : [rest]
    return context.supposed(() => {
      // No rule that lists what is allowed can list a name that is not known.
      context.tell('', words, channels, scope)
      // It may be any of them.
      for (const name of names) {
        if (base.matches(name.chars))
          start([name, ...words.slice(1)], scope.clone(), channels, reader)
      }
      return unknown
    })
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
  if (body) return reader.call(body, args, scope, stdin)
  const script = path.includes('/') ? reader.readFile(path, scope) : null
  if (script !== null) {
    const inner = scope.clone()
    inner.parameters = args
    return reader.runScript(script, inner, stdin)
  }
  context.tell(name, words, channels, scope)
  return followCommand({ name, words, args, scope, stdin, shell: reader })
}
