import type {
  DoubleQuotedChild,
  ParsedScript,
  ProcessSubstitutionPart,
  SyntaxNode,
  Word,
  WordPart,
} from 'unbash'
import { expandBraces } from './braces.ts'
import { expandParameter, expandSimple, fieldEnd } from './parameters.ts'
import type { Scope } from './scope.ts'
import { anyCharacter, anyText, empty, given, obscured, setOf, Text, unknown } from './text.ts'

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

/** The fields that bash makes of a word; one list for each way it may turn out. */
export function expandWord(word: Word, scope: Scope, host: WordHost): Text[][] {
  const texts = expandBraces(word.text)
  if (!texts) return [[obscured]]
  if (texts[0] !== word.text) {
    // Also what a reading of the parts one by one would not come upon.
    for (const part of word.parts ?? []) host.visit(part, scope)
    return [texts.flatMap((text) => expandAgain(text, scope, host))]
  }
  const isQuoted = !word.parts || word.parts.some(({ type }) => !type.endsWith('Expansion'))
  return readings(word, scope, host, true).map((text) => {
    const fields = text.split(/\0/).filter(({ length }) => length > 0)
    return fields.length === 0 && isQuoted ? [empty] : fields
  })
}

/** The fields of a word that brace expansion has made, of all its readings. */
function expandAgain(text: string, scope: Scope, host: WordHost): Text[] {
  const word = host.readWord(text)
  return word ? expandWord(word, scope, host).flat() : text === '' ? [] : [unknown]
}

/** Every text that a word may be, its fields told apart where it is split. */
function readings(word: Word, scope: Scope, host: WordHost, splits: boolean): Text[] {
  let texts: Text[] = [empty]
  for (const values of pieces(word, scope, host, splits)) {
    const choices = texts.length * values.length > maxReadings ? [obscured] : values
    texts = texts.flatMap((text) => choices.map((value) => Text.join([text, value])))
    scope.effort.spendOnTexts(texts)
    if (scope.effort.isSpent) return [obscured]
  }
  return texts
}

/** A word where bash neither splits nor globs: an assignment, a here-string, `[[ … ]]`. */
export function expandText(word: Word, scope: Scope, host: WordHost): Text[] {
  return readings(word, scope, host, false).map((text) =>
    text.withoutGlobs().replaceAll(fieldEnd, ' '),
  )
}

/** The body of a here-document. */
export function expandParts(parts: readonly WordPart[], scope: Scope, host: WordHost): Text {
  const texts = parts.flatMap((part) => readPart(part, scope, host, false))
  return Text.join(texts.map((values) => Text.join(values, '\n'))).replaceAll(fieldEnd, ' ')
}

/** What one part of a word may be: every possible text. */
type Piece = readonly Text[]

function pieces({ parts, text, value }: Word, scope: Scope, host: WordHost, splits: boolean) {
  if (!parts) return [expandTilde(text, value, scope)]
  return parts.flatMap((part, index): readonly Piece[] => {
    // Up to the first slash the prefix must be plain text: `~"x"` and `~$X` stay as they are.
    const mayBeHome = part.type === 'Literal' && (parts.length === 1 || part.text.includes('/'))
    return index === 0 && mayBeHome
      ? [expandTilde(part.text, part.value, scope)]
      : readPart(part, scope, host, splits)
  })
}

/** The texts of an expansion: in quotes a list stays one, outside they are split and globbed. */
function place(values: Piece, text: string, scope: Scope, splits: boolean): Piece {
  if (!splits) {
    const staysList = /^\$(?:@|\{@|\{!?\w+\[@\])/.test(text)
    return staysList ? values : values.map((value) => value.replaceAll(fieldEnd, ' '))
  }
  // With separators of its own, what a value comes to is not followed.
  const separators = scope.variables.get('IFS') ?? []
  const isOwn = separators.some((separator) => separator.test(/\S/))
  return values.map((value) =>
    isOwn && value.length > 0 ? obscured : value.activated().replace(/\s+/g, () => fieldEnd),
  )
}

function expandTilde(text: string, value: string, scope: Scope): readonly Text[] {
  const [prefix, user] = /^~([\w.+-]*)(?=\/|$)/.exec(text) ?? []
  if (prefix === undefined || user === undefined) return [Text.parsed(value)]
  const rest = Text.parsed(value.slice(prefix.length))
  return homeOf(user, scope).map((home) => Text.join([home, rest]))
}

function homeOf(user: string, scope: Scope): readonly Text[] {
  if (user === '') return expandSimple('HOME', scope)
  if (user === '+') return scope.directories
  if (user === '-') return expandSimple('OLDPWD', scope)
  return [new Text(user === 'root' ? '/root' : `/home/${user}`)]
}

function readPart(
  part: WordPart | DoubleQuotedChild,
  scope: Scope,
  host: WordHost,
  splits: boolean,
): readonly Piece[] {
  switch (part.type) {
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.flatMap((child) => readPart(child, scope, host, false))
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return [[Text.parsed(part.value)]]
    case 'Glob':
      if (part.kind === 'star') return [[anyText]]
      if (part.kind === 'question') return [[anyCharacter]]
      if (part.parts.every(({ type }) => type === 'Literal')) {
        return [[setOf(Text.parsed(part.value.slice(1, -1)))]]
      }
      for (const child of part.parts) host.visit(child, scope)
      return [[unknown]]
    case 'ExtendedGlob':
      for (const child of part.parts ?? []) host.visit(child, scope)
      return [[anyText]]
    case 'SimpleExpansion':
      return [place(expandSimple(part.text.slice(1), scope), part.text, scope, splits)]
    case 'ParameterExpansion': {
      const expanded = expandParameter(part, scope, (word) => expandText(word, scope, host))
      return [place(expanded, part.text, scope, splits)]
    }
    case 'CommandExpansion':
      // The parser ends the pattern of `${x/$(a/b)/c}` at the first slash, inside the substitution.
      if (!/[)`}]$/.test(part.text)) host.doubt('A substitution in it does not end.')
      return [place([withoutEnd(host.substitute(part.script, scope))], '', scope, splits)]
    case 'ArithmeticExpansion':
      if (part.expression) host.visit(part.expression, scope)
      return [[given]]
    case 'ProcessSubstitution':
      return [[host.processFile(part, scope)]]
    default:
      return [[Text.parsed(part.text)]]
  }
}

/** A substitution loses the newlines at its end. */
const withoutEnd = (output: Text): Text =>
  output.slice(0, output.length - (/\n+$/.exec(output.chars)?.[0].length ?? 0))
