import { anyText, given, isKnown, obscured, unknown } from '../shell/marked-text.ts'
import type { Call, Follow } from '../shell/interpreter.ts'

function echo({ words }: Call): string {
  let args = words.slice(1)
  let escapes = false
  let newline = '\n'
  while (/^-[neE]+$/.test(args[0] ?? '')) {
    if (args[0]?.includes('e')) escapes = true
    if (args[0]?.includes('n')) newline = ''
    args = args.slice(1)
  }
  const text = args.join(' ')
  return (escapes ? unescape(text) : text) + newline
}

/** A longer text is not put together. */
const maxLength = 65_536

function printf({ words, scope }: Call): string {
  const args = words.slice(1)
  let variable: string | undefined
  if (args[0] === '-v') [, variable] = args.splice(0, 2)
  if (args[0] === '--') args.shift()
  const [format = '', ...values] = args
  let text = ''
  do text += formatOnce(format, values)
  while (values.length > 0 && /%[^%]/.test(format) && text.length < maxLength)
  if (text.length >= maxLength) text = obscured
  if (variable === undefined) return text
  scope.assign(variable, [text])
  return ''
}

function formatOnce(format: string, values: string[]): string {
  return unescape(format).replace(
    /%(%|\([^)]*\)T|[-+ #0]*[\d*]*(?:\.[\d*]+)?[a-zA-Z])/g,
    (whole, spec: string) => {
      if (spec === '%') return '%'
      const value = values.shift() ?? ''
      const kind = spec.at(-1)
      if (kind === 'b') return unescape(value)
      if (kind === 'c') return value.slice(0, 1)
      if (kind === 's' || kind === 'q' || kind === 'd' || kind === 'i') {
        const limit = /\.(\d+)s$/.exec(spec)?.[1]
        return limit === undefined ? value : value.slice(0, Number(limit))
      }
      return whole === '' ? '' : given
    },
  )
}

function unescape(text: string): string {
  const named: Record<string, string> = {
    n: '\n',
    t: '\t',
    r: '\r',
    a: '',
    b: '',
    f: '',
    v: '',
    e: '',
    '\\': '\\',
  }
  return text.replace(
    /\\(?:x([\da-fA-F]{1,2})|0?([0-7]{1,3})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([ntrabfve\\])|(c).*)/gs,
    (_, hex?: string, octal?: string, short?: string, long?: string, name?: string) => {
      if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
      const code = hex ?? short ?? long
      if (code !== undefined) {
        const point = Number.parseInt(code, 16)
        return point > 0x10_ff_ff ? '' : String.fromCodePoint(point)
      }
      return name === undefined ? '' : (named[name] ?? '')
    },
  )
}

/** Known programs that pass on or change what they read. */
function decode({ words, stdin }: Call): string {
  const operands = words.slice(1).filter((word) => !word.startsWith('-'))
  if (stdin === null || operands.length > 0) return unknown
  if (!isKnown(stdin)) return stdin
  if (words.some((word) => /^-\w*[dD]|^--d/.test(word))) {
    return Buffer.from(stdin.replace(/\s/g, ''), 'base64').toString('utf8')
  }
  return Buffer.from(stdin).toString('base64')
}

function fromHex({ words, stdin }: Call): string {
  if (stdin === null) return unknown
  if (!words.some((word) => /^-\w*r/.test(word)) || !isKnown(stdin)) return obscured
  return Buffer.from(stdin.replace(/[^\da-fA-F]/g, ''), 'hex').toString('utf8')
}

function reverse({ stdin, words }: Call): string {
  if (stdin === null || words.length > 1) return unknown
  return stdin
    .split('\n')
    .map((line) => Array.from(line).toReversed().join(''))
    .join('\n')
}

function pass({ words, stdin, scope, interpreter }: Call): string {
  const operands = words.slice(1).filter((word) => !/^-./.test(word))
  if (operands.length === 0) return stdin ?? unknown
  return operands
    .map((path) =>
      path === '-' ? (stdin ?? unknown) : (interpreter.readFile(path, scope) ?? unknown),
    )
    .join('')
}

const tee: Follow = ({ words, stdin, interpreter, scope }) => {
  for (const word of words.slice(1)) interpreter.write(word, stdin ?? unknown, scope)
  return stdin ?? unknown
}

/** The lines that a pattern lets through; what a name stands for is then no longer everything. */
function grep({ words, stdin }: Call): string {
  const operands = words.slice(1).filter((word) => !word.startsWith('-'))
  if (stdin === null || operands.length > 1) return unknown
  if (words.some((word) => /^-[a-zA-Z]*v|^--invert/.test(word))) return stdin
  const [pattern = ''] = operands
  const kept = stdin.split('\n').flatMap((line) => {
    if (line.includes(anyText)) return [`${line}named`]
    return line.length > 8 || mayMatch(pattern, line) ? [line] : []
  })
  return kept.join('\n')
}

/** On short lines only: a pattern may be slow. */
function mayMatch(pattern: string, line: string): boolean {
  try {
    return new RegExp(pattern).test(line)
  } catch (error) {
    // Not the regular expressions of this language.
    if (error instanceof SyntaxError) return true
    throw error
  }
}

/** `tr '\\n' '\\0'`: the same words; any other `tr` is not followed. */
const separators: Follow = (call) =>
  call.words.slice(1).every((word) => /^(?:-[ds]|\\n|\\0| |\n)$/.test(word))
    ? (call.stdin ?? unknown)
    : unfollowedOutput(call)

const sameLines: Follow = ({ words, stdin }) =>
  words.slice(1).some((word) => /^[^-\d]/.test(word)) ? unknown : (stdin ?? unknown)

function list({ words, scope }: Call): string {
  const folders = words.slice(1).filter((word) => !word.startsWith('-'))
  if (folders.length === 0) return `${anyText}\n`
  const isAbsolute = words.some((word) => /^-\w*d/.test(word))
  const lines = folders.flatMap((folder) =>
    isAbsolute || /\uF8E0/.test(folder) ? [folder] : [anyText],
  )
  return scope.directories.length > 0 ? lines.join('\n') + '\n' : ''
}

const which: Follow = ({ words }) => (words.length > 1 ? `${words.at(-1)}\n` : '')

const eachOperand =
  (change: (path: string) => string): Follow =>
  ({ words }) =>
    words
      .slice(1)
      .filter((word) => !word.startsWith('-'))
      .map((path) => change(path))
      .join('\n')

function folderOf(path: string): string {
  const trimmed = path.replace(/\/+$/, '')
  const at = trimmed.lastIndexOf('/')
  if (at < 0) return isKnown(path) ? '.' : unknown
  return at === 0 ? '/' : trimmed.slice(0, at)
}

const workingDirectory: Follow = ({ scope }) => scope.directories.join('\n') + '\n'

/** A folder that is made for this run. */
const temporary: Follow = () => '/tmp/tmp.made/for-this-run'

const git: Follow = (call) => {
  const { words, scope } = call
  if (words[1] === 'rev-parse' && words.includes('--show-toplevel'))
    return scope.directories[0] ?? unknown
  if (words[1] === 'ls-files') return `${anyText}x\n`
  return unknown
}

export const printingCommands: Readonly<Record<string, Follow>> = {
  echo,
  printf,
  cat: pass,
  tac: pass,
  tee,
  base64: decode,
  xxd: fromHex,
  rev: reverse,
  grep,
  egrep: grep,
  fgrep: grep,
  sort: sameLines,
  uniq: sameLines,
  head: sameLines,
  tail: sameLines,
  tr: separators,
  ls: list,
  dir: list,
  which,
  basename: eachOperand((path) => path.replace(/\/+$/, '').split('/').at(-1) ?? path),
  dirname: eachOperand(folderOf),
  realpath: eachOperand((path) => path),
  readlink: eachOperand((path) => path),
  pwd: workingDirectory,
  mktemp: temporary,
  git,
}

/** Programs that turn one text into another; what they make of a constant is not followed. */
const filters = new Set(
  'tr sed awk gawk mawk cut openssl gunzip gzip zcat bunzip2 bzip2 xz unxz xzcat zstd uudecode base32 basenc gpg perl python python3 ruby node php od hexdump fold paste sort uniq head tail grep egrep jq column'.split(
    ' ',
  ),
)

export function unfollowedOutput({ name, stdin }: Call): string {
  if (stdin === null || stdin === '' || !filters.has(name)) return unknown
  return isKnown(stdin) || stdin.includes(obscured) ? obscured : unknown
}
