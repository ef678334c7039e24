/**
 * Text as far as it is known before the run. Beside its characters it tells, for each of them,
 * whether it is simply itself, the active part of a glob, or stands for what only the run decides.
 *
 * A mark is one letter in a second string of the same length:
 *
 * - ` ` the character itself, so that a quoted `*` is a plain `*`;
 * - `*` any text: an active `*`, or a name that a search would have put here;
 * - `?` any character; `[` and `]` around an active set;
 * - `u` the value of something that nobody assigned in the command; it may be empty;
 * - `o` what became of a constant where that is not followed (`openssl enc -d`, above a limit);
 * - `n` what a program has fetched from the network; it may be empty;
 * - `g` an unknown value that is not empty (`${X:?}`).
 */
export class Text {
  /** As a person would read it: globs as they are typed, an ellipsis for what is not known. */
  readonly chars: string
  private readonly marks: string | null

  constructor(chars: string, marks: string | null = null) {
    this.chars = chars
    this.marks = marks === null || marks.trim() === '' ? null : marks
  }

  /** Puts texts together, with a separator between each two. */
  static join(texts: readonly (Text | string)[], separator = ''): Text {
    let chars = ''
    let marks: string | null = null
    for (const [index, text] of texts.entries()) {
      if (index > 0) chars += separator
      const own: string | null = typeof text === 'string' ? null : text.marks
      if (own !== null) marks = (marks ?? '').padEnd(chars.length) + own
      chars += typeof text === 'string' ? text : text.chars
    }
    return new Text(chars, marks?.padEnd(chars.length) ?? null)
  }

  get length(): number {
    return this.chars.length
  }

  /** What two texts must have in common to be the same. */
  get key(): string {
    return this.marks === null ? this.chars : `${this.chars}\0${this.marks}`
  }

  /** Whether it has active globs in it. */
  get isGlob(): boolean {
    return this.marks !== null && /[*?[]/.test(this.marks)
  }

  /** Whether nothing in it depends on the run; a glob does not count as unknown. */
  get isKnown(): boolean {
    return this.marks === null || !/[uogn]/.test(this.marks)
  }

  /** Whether it is exactly this plain text. */
  is(plain: string): boolean {
    return this.marks === null && this.chars === plain
  }

  equals(other: Text): boolean {
    return this.chars === other.chars && this.marks === other.marks
  }

  /** Whether one of these marks stands somewhere in it. */
  has(marks: string): boolean {
    return this.marks !== null && [...marks].some((mark) => this.marks?.includes(mark))
  }

  /** Whether it begins with one of these marks. */
  beginsWith(marks: string): boolean {
    return this.marks !== null && this.marks !== '' && marks.includes(this.marks.charAt(0))
  }

  test(pattern: RegExp): boolean {
    return pattern.test(this.chars)
  }

  startsWith(start: string): boolean {
    return this.chars.startsWith(start)
  }

  endsWith(end: string): boolean {
    return this.chars.endsWith(end)
  }

  includes(part: string): boolean {
    return this.chars.includes(part)
  }

  slice(start: number, end?: number): Text {
    return new Text(this.chars.slice(start, end), this.marks?.slice(start, end) ?? null)
  }

  /** Splits it at each match of the pattern. */
  split(separator: RegExp): Text[] {
    let start = 0
    return this.chars.split(separator).map((part) => {
      // No part holds a separator, so that the next one begins at its first occurrence.
      const at = this.chars.indexOf(part, start)
      start = at + part.length
      return this.slice(at, start)
    })
  }

  /** Replaces every match of a global pattern. */
  replace(pattern: RegExp, change: (match: RegExpExecArray) => Text | string): Text {
    const parts: (Text | string)[] = []
    let end = 0
    for (const match of this.chars.matchAll(pattern)) {
      parts.push(this.slice(end, match.index), change(match))
      end = match.index + match[0].length
    }
    return end === 0 && parts.length === 0 ? this : Text.join([...parts, this.slice(end)])
  }

  /** Replaces every occurrence of a plain text. */
  replaceAll(part: string, other: Text | string): Text {
    return part === '' ? this : this.replace(new RegExp(escapePattern(part), 'g'), () => other)
  }

  /** The text if every unknown value that may be empty were. */
  withUnknownEmpty(): Text {
    const { marks } = this
    if (marks === null || this.isKnown) return this
    return this.replace(/…/g, ({ 0: own, index }) =>
      'uon'.includes(marks.charAt(index)) ? '' : own,
    )
  }

  /** Makes `*`, `?` and `[…]` active, as bash does with the value of an unquoted expansion. */
  activated(): Text {
    if (!/[*?[]/.test(this.chars)) return this
    const { chars } = this
    const marks = [...(this.marks ?? ' '.repeat(chars.length))]
    for (const { 0: glob, index } of chars.matchAll(globs)) {
      marks[index] = glob.charAt(0)
      if (glob.length > 1) marks[index + glob.length - 1] = ']'
    }
    return new Text(this.chars, marks.join(''))
  }

  /** With its globs as plain characters, as where bash does not expand them. */
  withoutGlobs(): Text {
    const { marks } = this
    return this.isGlob ? new Text(this.chars, (marks ?? '').replace(/[*?[\]]/g, ' ')) : this
  }

  /** Whether a word with active globs can name `text`. What is unknown matches anything. */
  matches(text: string): boolean {
    const { chars, marks } = this
    if (marks === null) return chars === text
    let pattern = ''
    let least = 0
    for (let at = 0; at < chars.length; at++) {
      const mark = marks.charAt(at)
      const isAnyText = '*uogn'.includes(mark)
      if (!isAnyText && ++least > text.length) return false
      const close = mark === '[' ? marks.indexOf(']', at) : -1
      if (isAnyText) pattern += pattern.endsWith('[^]*') ? '' : '[^]*'
      else if (mark === '?') pattern += '[^]'
      else if (close >= 0) {
        pattern += setPattern(chars.slice(at + 1, close))
        at = close
      } else pattern += escapePattern(chars.charAt(at))
    }
    return new RegExp(`^${pattern}$`).test(text)
  }

  /** As the parser takes it: globs as typed, a placeholder for each unknown value. */
  get source(): string {
    const { marks } = this
    if (marks === null || this.isKnown) return this.chars
    return this.chars.replaceAll(
      '…',
      (own, index: number) => placeholders[marks.charAt(index)] ?? own,
    )
  }

  /** The text of a part of a script, as the parser gives it. */
  static parsed(value: string): Text {
    if (!anyPlaceholder.test(value)) return new Text(value)
    const marks = value.replace(/[^]/g, (character) => markOf[character] ?? ' ')
    return new Text(value.replace(anyPlaceholders, '…'), marks)
  }
}

/** `*`, `?`, and a set, which ends within a reasonable length. */
const globs = /[*?]|\[[!^]?\]?(?:\[:\w{1,10}:\]|[^\]/]){0,200}\]/g

const escapePattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** A set of characters as a regular expression; a class such as `[:alpha:]` is taken to hold every character. */
function setPattern(set: string): string {
  const body = set.replace(/^!/, '^')
  const ranges = [...body.replace(/^\^/, '').matchAll(/([^])-([^])/g)]
  const isBackward = ranges.some(([, first = '', last = '']) => first > last)
  return body.includes('[:') || isBackward ? '[^]' : `[${body.replaceAll(/[\\[\]]/g, '\\$&')}]`
}

/**
 * What is unknown goes through the parser as one of four private-use characters, since a script
 * may have an unknown value in the middle. This is the only place that knows of them.
 */
const placeholders: Readonly<Record<string, string>> = {
  u: '\uF8E2',
  o: '\uF8E3',
  g: '\uF8E6',
  n: '\uF8E7',
}
const markOf: Readonly<Record<string, string>> = {
  ...{ '\uF8E2': 'u', '\uF8E3': 'o', '\uF8E6': 'g', '\uF8E7': 'n' },
}
const anyPlaceholder = /[\uF8E2\uF8E3\uF8E6\uF8E7]/
const anyPlaceholders = /[\uF8E2\uF8E3\uF8E6\uF8E7]/g

/** Takes the placeholders out of a text from outside. They mean nothing to a shell. */
export const withoutPlaceholders = (text: string): string => text.replace(anyPlaceholders, '\uFFFD')

/** The part of a script as a person reads it. */
export const readable = (source: string): string => source.replace(anyPlaceholders, '…')

export const empty = new Text('')
export const anyText = new Text('*', '*')
export const anyCharacter = new Text('?', '?')
export const unknown = new Text('…', 'u')
export const obscured = new Text('…', 'o')
export const fetched = new Text('…', 'n')
export const given = new Text('…', 'g')

/** An active set of characters. */
export const setOf = (body: Text): Text => Text.join([new Text('[', '['), body, new Text(']', ']')])

const ordinaryNames = ['src', 'README.md', 'package.json', 'a', 'node_modules']

/** Whether a glob leaves nothing out, as `*` does. */
export const fitsEveryName = (glob: Text): boolean =>
  ordinaryNames.every((name) => glob.matches(name))

/** Each text once. */
export function distinct(texts: readonly Text[]): Text[] {
  return [...new Map(texts.map((text) => [text.key, text])).values()]
}

/** Writes a word so that a shell reads it again as the same word, its active globs active. */
export function quote(word: Text): Text {
  if (word.isGlob || word.test(/^[\w./:,@%+=-]+$/)) return word
  return Text.join(["'", word.replaceAll("'", "'\\''"), "'"])
}

/** The names of a path, without `.`, `..` and empty ones. The path counts as absolute. */
export function pathNames(path: Text): Text[] {
  const names: Text[] = []
  for (const name of path.split(/\//)) {
    if (name.is('..')) names.pop()
    else if (name.length > 0 && !name.is('.')) names.push(name)
  }
  return names
}

/** The same, seen from a directory. */
export const absoluteNames = (path: Text, directory: Text): Text[] =>
  pathNames(path.startsWith('/') ? path : Text.join([directory, '/', path]))

export const baseName = (path: Text): Text => path.slice(path.chars.lastIndexOf('/') + 1)
