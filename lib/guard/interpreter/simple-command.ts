import type { Assignment, Command, Word } from 'unbash'
import type { Scope } from '../shell/scope.ts'
import { empty, Text, unknown } from '../shell/text.ts'
import { expandText, expandWord } from '../shell/word.ts'
import type { Reader } from './context.ts'

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
