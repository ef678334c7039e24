import type {
  ArithmeticExpression,
  DoubleQuotedChild,
  ParsedScript,
  ProcessSubstitutionPart,
  SyntaxNode,
  Word,
  WordPart,
} from 'unbash'
import { expandBraces } from './braces.ts'
import { type Expanded, expandParameter, expandSimple } from './parameters.ts'
import type { Scope } from './scope.ts'
import {
  anyCharacter,
  anyText,
  distinct,
  empty,
  given,
  obscured,
  setOf,
  Text,
  unknown,
} from './text.ts'

/** What expanding a word needs from the one who walks the script. */
export interface WordHost {
  /** Runs a substitution; gives what it prints. */
  substitute(script: ParsedScript | undefined, scope: Scope): Text
  /** The path that stands for `<(…)` or `>(…)`. */
  processFile(part: ProcessSubstitutionPart, scope: Scope): Text
  /** Walks what has no value here, such as arithmetic, for the scripts in it. */
  visit(node: SyntaxNode, scope: Scope): void
  /** Reports a text that a shell may read in another way than the parser, or not at all. */
  doubt(reason: string): void
  /** Reads the text of one word again, after brace expansion. */
  readWord(text: string): Word | null
}

/** Above so many readings of one word the rest of it counts as unknown. */
const maxReadings = 256
/** A word of more parts counts as unknown. */
const maxParts = 20_000

interface Reading {
  readonly fields: readonly Text[]
  readonly current: Text | null
}

/** The fields that bash makes of a word; one list for each way it may turn out. */
export function expandWord(word: Word, scope: Scope, host: WordHost): Text[][] {
  if (word.text.includes('{') && word.text.includes('}')) {
    const texts = expandBraces(word.text)
    if (!texts) return [[obscured]]
    if (texts.length > 1) {
      // Also what a reading of the parts one by one would not come upon.
      for (const part of word.parts ?? []) host.visit(part, scope)
      return expandEach(texts, scope, host)
    }
  }
  if (word.parts && word.parts.length > maxParts) {
    for (const part of word.parts) host.visit(part, scope)
    return [[obscured]]
  }
  if (!word.parts) return expandTilde(word.text, word.value, scope).map((text) => [text])
  let readings: Reading[] = [{ fields: [], current: null }]
  for (const piece of pieces(word, scope, host)) {
    const values = readings.length * piece.values.length > maxReadings ? [obscured] : piece.values
    readings = readings.flatMap((reading) =>
      values.map((value) => extend(reading, piece, value, scope)),
    )
    for (const { fields, current } of readings) {
      scope.effort.spendOnTexts(current ? [...fields, current] : fields)
    }
    if (scope.effort.isSpent) return [[obscured]]
  }
  return readings.map(({ fields, current }) => fields.concat(current ?? []))
}

/** A word where bash neither splits nor globs: an assignment, a here-string, `[[ … ]]`. */
export function expandText(word: Word, scope: Scope, host: WordHost): Text[] {
  let texts: Text[] = [empty]
  for (const piece of pieces(word, scope, host)) {
    const values = texts.length * piece.values.length > maxReadings ? [obscured] : piece.values
    texts = texts.flatMap((text) => values.map((value) => Text.join([text, value])))
    scope.effort.spendOnTexts(texts)
    if (scope.effort.isSpent) return [obscured]
  }
  return texts.map((text) => text.withoutGlobs())
}

/** The body of a here-document. */
export function expandParts(parts: readonly WordPart[], scope: Scope, host: WordHost): Text {
  const texts: Text[] = []
  for (const part of parts) {
    const quoted =
      part.type === 'DoubleQuoted' || part.type === 'LocaleString'
        ? quotedPieces(part.parts, scope, host)
        : [readPart(part, scope, host, true)]
    for (const { values } of quoted) texts.push(Text.join(values, '\n'))
  }
  return Text.join(texts)
}

function expandEach(texts: readonly string[], scope: Scope, host: WordHost): Text[][] {
  let readings: Text[][] = [[]]
  for (const text of texts) {
    const word = host.readWord(text)
    const expanded = word ? expandWord(word, scope, host) : [[unknown]]
    const [first = [unknown]] = expanded
    const choices =
      readings.length * expanded.length > maxReadings ? [distinct(expanded.flat())] : expanded
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

const literal = (value: string): Piece => ({ values: [Text.parsed(value)], quoted: true })

function pieces({ parts, text, value }: Word, scope: Scope, host: WordHost): readonly Piece[] {
  if (!parts) return [{ values: expandTilde(text, value, scope), quoted: true }]
  return parts.flatMap((part, index) => {
    // Up to the first slash the prefix must be plain text: `~"x"` and `~$X` stay as they are.
    const mayBeHome = part.type === 'Literal' && (parts.length === 1 || part.text.includes('/'))
    if (index === 0 && mayBeHome) {
      return { values: expandTilde(part.text, part.value, scope), quoted: true }
    }
    return part.type === 'DoubleQuoted' || part.type === 'LocaleString'
      ? quotedPieces(part.parts, scope, host)
      : readPart(part, scope, host, false)
  })
}

function quotedPieces(parts: readonly DoubleQuotedChild[], scope: Scope, host: WordHost): Piece[] {
  if (parts.length === 0) return [literal('')]
  return parts.map((part) => {
    const { values, list } = readPart(part, scope, host, true)
    const staysList = list && /^\$(?:@|\{@|\{!?\w+\[@\])/.test(part.text)
    return staysList ? { values, list, quoted: true } : { values, quoted: true }
  })
}

function expandTilde(text: string, value: string, scope: Scope): readonly Text[] {
  const [prefix, user] = /^~([\w.+-]*)(?=\/|$)/.exec(text) ?? []
  if (prefix === undefined || user === undefined) return [Text.parsed(value)]
  const rest = Text.parsed(value.slice(prefix.length))
  return homeOf(user, scope).map((home) => Text.join([home, rest]))
}

function homeOf(user: string, scope: Scope): readonly Text[] {
  if (user === '') return expandSimple('HOME', scope).values
  if (user === '+') return scope.directories
  if (user === '-') return expandSimple('OLDPWD', scope).values
  return [new Text(user === 'root' ? '/root' : `/home/${user}`)]
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
      return literal(part.value)
    case 'Glob':
      if (part.kind === 'star') return { values: [anyText], quoted: true }
      if (part.kind === 'question') return { values: [anyCharacter], quoted: true }
      if (part.parts.every(({ type }) => type === 'Literal')) {
        return { values: [setOf(Text.parsed(part.value.slice(1, -1)))], quoted: true }
      }
      for (const child of part.parts) host.visit(child, scope)
      return { values: [unknown], quoted: true }
    case 'ExtendedGlob': {
      for (const child of part.parts ?? []) host.visit(child, scope)
      if (part.operator === '!') return { values: [anyText], quoted: true }
      const choices = part.pattern.split('|')
      return { values: choices.map((choice) => Text.parsed(choice).activated()), quoted: true }
    }
    case 'SimpleExpansion':
      return { ...expandSimple(part.text.slice(1), scope), quoted }
    case 'ParameterExpansion':
      return { ...expandParameter(part, scope, (word) => expandText(word, scope, host)), quoted }
    case 'CommandExpansion':
      // The parser ends the pattern of `${x/$(a/b)/c}` at the first slash, inside the substitution.
      if (!/[)`}]$/.test(part.text)) host.doubt('A substitution in it does not end.')
      return { values: [withoutEnd(host.substitute(part.script, scope))], quoted }
    case 'ArithmeticExpansion':
      if (part.expression) host.visit(part.expression, scope)
      return { values: [part.expression ? numberOf(part.expression) : given], quoted: true }
    case 'ProcessSubstitution':
      return { values: [host.processFile(part, scope)], quoted: true }
    default:
      return literal(part.text)
  }
}

/** A substitution loses the newlines at its end. */
const withoutEnd = (output: Text): Text =>
  output.slice(0, output.length - (/\n+$/.exec(output.chars)?.[0].length ?? 0))

const numberOf = (expression: ArithmeticExpression): Text =>
  expression.type === 'ArithmeticWord' && /^\d+$/.test(expression.value)
    ? new Text(expression.value)
    : given

function extend({ fields, current }: Reading, piece: Piece, value: Text, scope: Scope): Reading {
  if (piece.list && !value.equals(unknown)) {
    const items = piece.quoted
      ? piece.list
      : piece.list.flatMap((item) => split(item.activated(), scope))
    return append({ fields, current }, items)
  }
  if (piece.quoted) return { fields, current: current ? Text.join([current, value]) : value }
  const active = value.activated()
  const items = split(active, scope)
  const startsApart = active.test(/^\s/)
  const endsApart = active.test(/\s$/)
  let reading: Reading = { fields, current }
  if (startsApart && current !== null) reading = { fields: [...fields, current], current: null }
  reading = append(reading, items)
  if (endsApart && items.length > 0 && reading.current !== null) {
    reading = { fields: [...reading.fields, reading.current], current: null }
  }
  return reading
}

function append({ fields, current }: Reading, items: readonly Text[]): Reading {
  const [first, ...rest] = items
  if (first === undefined) return { fields, current }
  const joined = current ? Text.join([current, first]) : first
  const last = rest.pop()
  if (last === undefined) return { fields, current: joined }
  return { fields: [...fields, joined, ...rest], current: last }
}

/** Word splitting. With separators of its own, what a value comes to is not followed. */
function split(text: Text, scope: Scope): Text[] {
  const own = scope.variables.get('IFS')?.values ?? []
  if (text.length > 0 && own.some((value) => value.test(/\S/))) return [obscured]
  return text.split(/\s+/).filter(({ length }) => length > 0)
}
