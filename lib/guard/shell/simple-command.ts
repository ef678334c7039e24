import type { Command, Word } from 'unbash'
import { assign } from './assign.ts'
import { unknown } from './marked-text.ts'
import type { Reader, Streams } from './reader.ts'
import type { Scope, Variable } from './scope.ts'

/** So many readings of one command are followed one by one. */
const maxReadings = 24

/** Expands a simple command's words, assignments and redirections, and starts what comes out. */
export function readSimpleCommand(
  node: Command,
  scope: Scope,
  stdin: string | null,
  reader: Reader,
): string {
  const argvs = readArguments(node, scope, reader)
  const streams = reader.redirect(node.redirects, scope, stdin)
  const before = new Map<string, Variable | undefined>()
  for (const part of node.prefix) {
    if (part.type !== 'Assignment') continue
    if (node.name) before.set(part.name, scope.variables.get(part.name))
    assign(part, scope, reader)
  }
  if (!node.name) {
    reader.sawWrites(streams.writes, scope)
    return streams.finish('')
  }
  const output = startEach(argvs, scope, streams, reader)
  for (const [name, value] of before) {
    if (value) scope.variables.set(name, value)
    else scope.variables.delete(name)
  }
  return streams.finish(output)
}

function readArguments({ name, suffix }: Command, scope: Scope, reader: Reader): string[][] {
  const words = name ? [withAbsent(name, 0, reader.expand(name, scope))] : []
  for (const part of suffix) {
    if (part.type === 'Word') words.push(withAbsent(part, words.length, reader.expand(part, scope)))
    else if (part.type === 'Assignment') {
      // `export a=1`: the builtin assigns, from its word; only an array cannot be written as one.
      const trial = scope.clone()
      assign(part, trial, reader)
      const variable = trial.variables.get(part.name)
      if (variable?.elements) {
        scope.variables.set(part.name, variable)
        continue
      }
      words.push((variable?.values ?? []).map((value) => [`${part.name}=${value}`]))
    }
  }
  return combine(words)
}

/**
 * An unknown value without quotes may be no word at all: `$SUDO rm`, `git $OPTIONS push`. That
 * matters where the next word would then be the command, or the subcommand.
 */
function withAbsent(word: Word, position: number, readings: string[][]): string[][] {
  const isQuoted = word.parts?.[0]?.type === 'DoubleQuoted'
  const [fields, ...others] = readings
  const mayBeAbsent = others.length === 0 && fields?.length === 1 && fields[0] === unknown
  return mayBeAbsent && !isQuoted && position <= 3 ? [[unknown], []] : readings
}

/** Every argv that the words may turn out to be; above a limit all readings of a word in one. */
function combine(words: readonly string[][][]): string[][] {
  const total = words.reduce((product, readings) => product * readings.length, 1)
  let argvs: string[][] = [[]]
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

function startEach(
  argvs: readonly string[][],
  scope: Scope,
  { stdin, writes, redirected }: Streams,
  reader: Reader,
): string {
  const io = { stdin, writes, redirected }
  const [only] = argvs
  if (argvs.length === 1 && only) return reader.start(only, scope, io)
  let output = ''
  const ends = argvs.map((argv) => {
    const state = scope.clone()
    output += `${reader.start(argv, state, io)}\n`
    return state
  })
  const [first, ...others] = ends
  if (first) scope.become(first)
  for (const other of others) scope.merge(other)
  return output
}
