import type {
  ArithmeticExpression,
  DoubleQuotedChild,
  ParsedScript,
  ProcessSubstitutionPart,
  SyntaxNode,
  Word,
  WordPart,
} from 'unbash'
import { expandBraces } from './brace.ts'
import { type Expanded, expandParameter, expandSimple } from './expansion.ts'
import {
  activateGlobs,
  anyCharacter,
  anyText,
  given,
  markSet,
  spelled,
  unknown,
  obscured,
} from './marked-text.ts'
import type { Scope } from './scope.ts'

/** What expanding a word needs from the one who walks the script. */
export interface WordHost {
  /** Runs a substitution; gives what it prints. */
  substitute(script: ParsedScript | undefined, scope: Scope): string
  /** The path that stands for `<(…)` or `>(…)`. */
  processFile(part: ProcessSubstitutionPart, scope: Scope): string
  /** Walks what has no value here, such as arithmetic, for the scripts in it. */
  visit(node: SyntaxNode, scope: Scope): void
  /** Something cannot be read, and matters. */
  doubt(reason: string): void
  /** Reads the text of one word again, after brace expansion. */
  readWord(text: string): Word | null
}

/** Above so many readings of one word the rest of it counts as unknown. */
const maxReadings = 256

interface Reading {
  readonly fields: readonly string[]
  readonly current: string | null
}

/** The fields that bash makes of a word; one list for each way it may turn out. */
export function expandWord(word: Word, scope: Scope, host: WordHost): string[][] {
  if (word.text.includes('{') && word.text.includes('}')) {
    const texts = expandBraces(word.text)
    if (!texts) return [[obscured]]
    if (texts.length > 1) {
      // Also what a reading of the parts one by one would not come upon.
      for (const part of word.parts ?? []) host.visit(part, scope)
      return expandEach(texts, scope, host)
    }
  }
  let readings: Reading[] = [{ fields: [], current: null }]
  for (const piece of pieces(word, scope, host)) {
    const values = readings.length * piece.values.length > maxReadings ? [obscured] : piece.values
    readings = readings.flatMap((reading) =>
      values.map((value) => extend(reading, piece, value, scope)),
    )
  }
  return readings.map(({ fields, current }) => fields.concat(current ?? []))
}

/** A word where bash neither splits nor globs: an assignment, a here-string, `[[ … ]]`. */
export function expandText(word: Word, scope: Scope, host: WordHost): string[] {
  let texts = ['']
  for (const piece of pieces(word, scope, host)) {
    const values = texts.length * piece.values.length > maxReadings ? [obscured] : piece.values
    texts = texts.flatMap((text) => values.map((value) => text + value))
  }
  return texts.map(spelled)
}

/** The body of a here-document. */
export function expandParts(parts: readonly WordPart[], scope: Scope, host: WordHost): string {
  let text = ''
  for (const part of parts) {
    const quoted =
      part.type === 'DoubleQuoted' || part.type === 'LocaleString'
        ? [...quotedPieces(part.parts, scope, host)]
        : [readPart(part, scope, host, true)]
    for (const { values } of quoted) text += values.join('\n')
  }
  return text
}

function expandEach(texts: readonly string[], scope: Scope, host: WordHost): string[][] {
  let readings: string[][] = [[]]
  for (const text of texts) {
    const word = host.readWord(text)
    const expanded = word ? expandWord(word, scope, host) : [[unknown]]
    const [first = [unknown]] = expanded
    const choices =
      readings.length * expanded.length > maxReadings ? [[...new Set(expanded.flat())]] : expanded
    readings =
      choices.length === 1
        ? readings.map((fields) => [...fields, ...(choices[0] ?? first)])
        : readings.flatMap((fields) => choices.map((choice) => fields.concat(choice)))
  }
  return readings
}

interface Piece extends Expanded {
  readonly quoted: boolean
}

function* pieces(word: Word, scope: Scope, host: WordHost): Generator<Piece> {
  const { parts } = word
  if (!parts) {
    yield { values: expandTilde(word.text, word.value, scope), quoted: true }
    return
  }
  for (const [index, part] of parts.entries()) {
    // Up to the first slash the prefix must be plain text: `~"x"` and `~$X` stay as they are.
    const mayBeHome = part.type === 'Literal' && (parts.length === 1 || part.text.includes('/'))
    if (index === 0 && mayBeHome) {
      yield { values: expandTilde(part.text, part.value, scope), quoted: true }
    } else if (part.type === 'DoubleQuoted' || part.type === 'LocaleString') {
      yield* quotedPieces(part.parts, scope, host)
    } else yield readPart(part, scope, host, false)
  }
}

function* quotedPieces(
  parts: readonly DoubleQuotedChild[],
  scope: Scope,
  host: WordHost,
): Generator<Piece> {
  if (parts.length === 0) yield { values: [''], quoted: true }
  for (const part of parts) {
    const { values, list } = readPart(part, scope, host, true)
    const staysList = list && /^\$(?:@|\{@|\{!?\w+\[@\])/.test(part.text)
    yield staysList ? { values, list, quoted: true } : { values, quoted: true }
  }
}

function expandTilde(text: string, value: string, scope: Scope): readonly string[] {
  const [prefix, user] = /^~([\w.+-]*)(?=\/|$)/.exec(text) ?? []
  if (prefix === undefined || user === undefined) return [value]
  const rest = value.slice(prefix.length)
  return homeOf(user, scope).map((home) => home + rest)
}

function homeOf(user: string, scope: Scope): readonly string[] {
  if (user === '') return expandSimple('HOME', scope).values
  if (user === '+') return scope.directories
  if (user === '-') return expandSimple('OLDPWD', scope).values
  return [user === 'root' ? '/root' : `/home/${user}`]
}

function readPart(
  part: Exclude<WordPart | DoubleQuotedChild, { type: 'DoubleQuoted' | 'LocaleString' }>,
  scope: Scope,
  host: WordHost,
  quoted: boolean,
): Piece {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return { values: [part.value], quoted: true }
    case 'Glob':
      if (part.kind === 'star') return { values: [anyText], quoted: true }
      if (part.kind === 'question') return { values: [anyCharacter], quoted: true }
      if (part.parts.every(({ type }) => type === 'Literal')) {
        return { values: [markSet(part.value.slice(1, -1))], quoted: true }
      }
      for (const child of part.parts) host.visit(child, scope)
      return { values: [unknown], quoted: true }
    case 'ExtendedGlob':
      for (const child of part.parts ?? []) host.visit(child, scope)
      if (part.operator === '!') return { values: [anyText], quoted: true }
      return { values: part.pattern.split('|').map(activateGlobs), quoted: true }
    case 'SimpleExpansion':
      return { ...expandSimple(part.text.slice(1), scope), quoted }
    case 'ParameterExpansion': {
      const readText = (word: Word): string[] => expandText(word, scope, host)
      return { ...expandParameter(part, scope, readText), quoted }
    }
    case 'CommandExpansion':
      // The parser ends the pattern of `${x/$(a/b)/c}` at the first slash, inside the substitution.
      if (!/[)`}]$/.test(part.text)) host.doubt('A substitution in it does not end.')
      return { values: [host.substitute(part.script, scope).replace(/\n+$/, '')], quoted }
    case 'ArithmeticExpansion':
      if (part.expression) host.visit(part.expression, scope)
      return { values: [part.expression ? numberOf(part.expression) : given], quoted: true }
    case 'ProcessSubstitution':
      return { values: [host.processFile(part, scope)], quoted: true }
    default:
      return { values: [part.text], quoted: true }
  }
}

const numberOf = (expression: ArithmeticExpression): string =>
  expression.type === 'ArithmeticWord' && /^\d+$/.test(expression.value) ? expression.value : given

function extend({ fields, current }: Reading, piece: Piece, value: string, scope: Scope): Reading {
  if (piece.list && value !== unknown) {
    const items = piece.quoted
      ? piece.list
      : piece.list.flatMap((item) => split(activateGlobs(item), scope))
    return append({ fields, current }, items)
  }
  if (piece.quoted) return { fields, current: (current ?? '') + value }
  const active = activateGlobs(value)
  const items = split(active, scope)
  const separators = separatorsOf(scope)
  const startsApart = active !== '' && separators.includes(active.charAt(0))
  const endsApart = active !== '' && separators.includes(active.at(-1) ?? '')
  let reading: Reading = { fields, current }
  if (startsApart && current !== null) reading = { fields: [...fields, current], current: null }
  reading = append(reading, items)
  if (endsApart && items.length > 0 && reading.current !== null) {
    reading = { fields: [...reading.fields, reading.current], current: null }
  }
  return reading
}

function append({ fields, current }: Reading, items: readonly string[]): Reading {
  const [first, ...rest] = items
  if (first === undefined) return { fields, current }
  const joined = (current ?? '') + first
  const last = rest.pop()
  if (last === undefined) return { fields, current: joined }
  return { fields: [...fields, joined, ...rest], current: last }
}

function separatorsOf(scope: Scope): string {
  return scope.variables.get('IFS')?.values[0] ?? ' \t\n'
}

/** Word splitting: white space among the separators runs together, others part empty fields too. */
function split(text: string, scope: Scope): string[] {
  const separators = separatorsOf(scope)
  const fields: string[] = []
  let field = ''
  let afterField = false
  for (const character of text) {
    if (!separators.includes(character)) {
      field += character
      continue
    }
    const isSpace = /\s/.test(character)
    if (field !== '') fields.push(field)
    else if (!isSpace && !afterField) fields.push('')
    afterField = isSpace && (field !== '' || afterField)
    field = ''
  }
  if (field !== '') fields.push(field)
  return fields
}
