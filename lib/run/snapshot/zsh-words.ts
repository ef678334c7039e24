/*
 * Which text of a zsh means the same to bash, and how bash must be told it: the two differ in what
 * becomes of a parameter without quotes (zsh neither splits it nor looks for files, and drops it where it
 * is empty), and each has words that the other lacks. What is not known to be the same is refused; one thing
 * is not the same: bash keeps the empty ones of all arguments.
 */

/** How a piece of text is taken over: as it is, otherwise, or not at all. */
type Piece = string | null

const name = '(?:[1-9]|[A-Za-z_]\\w*)'
/** A parameter of one character or in braces, with neither subscript nor modifier behind it. */
const plain = new RegExp(`\\$(?:(${name})|\\{(${name})\\})(?!\\w|\\[|:[A-Za-z&])`, 'y')
const withDefault = new RegExp(`\\$\\{(${name}):-([\\w./:@%+,-]+)\\}`, 'y')
const withOperator = new RegExp(`\\$\\{(${name})(?::?[-=+?]|%%?|##?)[\\w./:@%+,*?-]*\\}`, 'y')
const allArguments = /\$[@*](?!\[)/y
/** Numbers, which are one word anyway. */
const numeric = /\$(?:#(?![\w{@*[+])|[?$!])/y
const arithmetic = /\$\(\([\w\s+*/%<>=!-]*\)\)/y
const singleQuoted = /\$?'(?:[^'\\]|\\[^'])*'/y
const escaped = /\\[\s\S]/y
const inQuotes = /[^"\\$`]+/y
const outsideQuotes = /[^"'\\$`()]+/y

/** Variables that only zsh fills. */
const ofZsh =
  /^(?:path|argv|ARGC|status|pipestatus|MATCH|match|mbegin|mend|reply|REPLY|funcstack|functions|commands|aliases|options|parameters|history|words|dirstack|fpath|[LR]?BUFFER|CURSOR|ZSH.*|zsh.*|EPOCH.*)$/

/** Words and signs that bash lacks or reads otherwise; each quoted part is `q`, each parameter `$`. */
const refused = [
  /(?:^|[\s;&|({!])(?:setopt|unsetopt|emulate|zmodload|autoload|zle|bindkey|print|whence|where|read|vared|zparseopts|compdef|compadd|compinit|noglob|nocorrect|foreach|repeat|always|typeset|declare|integer|float|functions|alias|unalias|zstyle|add-zsh-hook|rehash|eval|trap|source|\.|select|coproc|function)(?=$|[\s;&|)}])/,
  // Arrays and their elements, =(command), glob qualifiers, =program.
  /=\(|[*?\]]\(|\w\[|(?:^|\s)=\w/,
  // Here-documents, other redirections and jobs, short forms of loops.
  /(?<!<)<<(?!<)|>[!|&]*!|&[|!]|\bfor\s+\w+\s*\(|\bif\s*\(\(.*\)\)\s*\{/,
  // Extended patterns.
  /<\d*-\d*>|\(#|\*\*\//,
]
/** Its own echo reads these. */
const echoEscapes = /(?:^|[\s;&|({!])echo\s[^\n;&|]*\\/

/** What bash must be told to do what zsh does with this text; null where that is not known. */
export function toBash(text: string): string | null {
  const reader = new Reader(text)
  const told = reader.read('')
  if (told === null || !reader.isAtEnd) return null
  if (refused.some((pattern) => pattern.test(reader.skeleton)) || echoEscapes.test(text))
    return null
  return told
}

class Reader {
  /** The text without what is quoted. */
  skeleton = ''
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length
  }

  /** Reads commands up to `end`, which is not taken. */
  read(end: '' | ')'): Piece {
    let told = ''
    let depth = 0
    while (!this.isAtEnd) {
      const sign = this.#text[this.#at]!
      if (sign === ')' && depth === 0 && end === ')') return told
      let piece: Piece
      if (sign === '"') piece = this.#readQuotes()
      else if (sign === '(' || sign === ')') {
        depth += sign === '(' ? 1 : -1
        piece = this.#pass(/[()]/y, sign)
      } else
        piece =
          this.#pass(outsideQuotes) ??
          this.#pass(singleQuoted, 'q') ??
          this.#pass(escaped, 'q') ??
          this.#readBare()
      if (piece === null) return null
      told += piece
    }
    return end === '' ? told : null
  }

  #readQuotes(): Piece {
    let told = '"'
    this.#at++
    this.skeleton += 'q'
    while (this.#text[this.#at] !== '"') {
      const piece =
        this.#pass(inQuotes, '') ??
        this.#pass(escaped, '') ??
        this.#readNumber() ??
        this.#readParameter() ??
        this.#readOperator(withOperator) ??
        this.#pass(allArguments, '$') ??
        this.#readSubstitution()
      if (piece === null) return null
      told += piece
    }
    this.#at++
    return `${told}"`
  }

  /** A parameter or substitution without quotes. */
  #readBare(): Piece {
    const isAssigned = /(?:^|[\s;&|({])[A-Za-z_]\w*=[^\s;&|]*$/.test(this.skeleton)
    if (this.#pass(allArguments, '$') !== null) return '"$@"'
    const number = this.#readNumber()
    if (number !== null) return number
    const [, short, braced] = this.#match(plain) ?? []
    const parameter = this.#readParameter()
    if (parameter !== null) {
      return isAssigned ? parameter : `\${${short ?? braced}:+"${parameter}"}`
    }
    const defaulted = this.#readOperator(withDefault)
    if (defaulted !== null) return isAssigned ? defaulted : `"${defaulted}"`
    return this.#readSubstitution()
  }

  #readParameter(): Piece {
    const [, short, braced] = this.#match(plain) ?? []
    return ofZsh.test(short ?? braced ?? '') ? null : this.#pass(plain, '$')
  }

  #readOperator(pattern: RegExp): Piece {
    const [, parameter = ''] = this.#match(pattern) ?? []
    return ofZsh.test(parameter) ? null : this.#pass(pattern, '$')
  }

  #readNumber(): Piece {
    return this.#pass(numeric, '$') ?? this.#pass(arithmetic, '$')
  }

  #readSubstitution(): Piece {
    if (!this.#text.startsWith('$(', this.#at) || this.#text[this.#at + 2] === '(') return null
    this.#at += 2
    this.skeleton += ' ( '
    const inner = this.read(')')
    if (inner === null || this.isAtEnd) return null
    this.#at++
    this.skeleton += ' ) '
    return `$(${inner})`
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)
  }

  /** Takes what matches here, which stands as `shown` in the skeleton; null where nothing does. */
  #pass(pattern: RegExp, shown?: string): Piece {
    const [found] = this.#match(pattern) ?? []
    if (found === undefined) return null
    this.#at += found.length
    this.skeleton += shown ?? found
    return found
  }
}
