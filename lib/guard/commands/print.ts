import { anyText, empty, given, obscured, Text, unknown } from '../shell/text.ts'
import type { Call, Commands, Follow } from './call.ts'

/** A longer text is not put together. */
const maxLength = 65_536

const operandsOf = (args: readonly Text[]): Text[] => args.filter((word) => !word.startsWith('-'))

const lines = (texts: readonly Text[]): Text => Text.join(texts.flatMap((text) => [text, '\n']))

const echo: Follow = ({ args: own }) => {
  const args = [...own]
  let options = ''
  while (args[0]?.test(/^-[neE]+$/)) options += args.shift()?.chars ?? ''
  const text = Text.join(args, ' ')
  const printed = options.includes('e') ? unescape(text) : text
  return options.includes('n') ? printed : Text.join([printed, '\n'])
}

const printf: Follow = ({ args: own, scope }) => {
  const args = [...own]
  const variable = args[0]?.is('-v') ? args.splice(0, 2)[1] : undefined
  if (args[0]?.is('--')) args.shift()
  const [format = empty, ...values] = args
  const takesValues = format.test(/%[^%]/)
  const parts: Text[] = []
  let length = 0
  do {
    const part = formatOnce(format, values)
    length += part.length
    parts.push(part)
  } while (values.length > 0 && takesValues && length < maxLength)
  const text = length >= maxLength ? obscured : Text.join(parts)
  if (variable === undefined) return text
  scope.assign(variable.chars, [text])
  return empty
}

function formatOnce(format: Text, values: Text[]): Text {
  const conversion = /%(%|\([^)]*\)T|[-+ #0]*[\d*]*(?:\.[\d*]+)?[a-zA-Z])/g
  return unescape(format).replace(conversion, ([, spec = '']) => {
    if (spec === '%') return '%'
    const value = values.shift() ?? empty
    const kind = spec.at(-1) ?? ''
    if (kind === 'b') return unescape(value)
    if (kind === 'c') return value.slice(0, 1)
    if (!'sqdi'.includes(kind)) return given
    const limit = /\.(\d+)s$/.exec(spec)?.[1]
    return limit === undefined ? value : value.slice(0, Number(limit))
  })
}

const escapes =
  /\\(?:x([\da-fA-F]{1,2})|0?([0-7]{1,3})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([ntrabfve\\])|c.*)/gs
const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\' }

function unescape(text: Text): Text {
  if (!text.includes('\\')) return text
  return text.replace(escapes, ([, hex, octal, short, long, name]) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
    const code = hex ?? short ?? long
    if (code === undefined) return name === undefined ? '' : (named[name] ?? '')
    const point = Number.parseInt(code, 16)
    return point > 0x10_ff_ff ? '' : String.fromCodePoint(point)
  })
}

// Programs that pass on or change what they read.

const base64: Follow = ({ args, stdin }) => {
  if (stdin === null || operandsOf(args).length > 0) return unknown
  if (!stdin.isKnown) return stdin
  const decodes = args.some((word) => word.test(/^-\w*[dD]|^--d/))
  return new Text(
    decodes
      ? Buffer.from(stdin.chars.replace(/\s/g, ''), 'base64').toString('utf8')
      : Buffer.from(stdin.chars).toString('base64'),
  )
}

const xxd: Follow = ({ args, stdin }) => {
  if (stdin === null) return unknown
  if (!args.some((word) => word.test(/^-\w*r/)) || !stdin.isKnown) return obscured
  return new Text(Buffer.from(stdin.chars.replace(/[^\da-fA-F]/g, ''), 'hex').toString('utf8'))
}

const rev: Follow = ({ args, stdin }) => {
  if (stdin === null || args.length > 0) return unknown
  const reversed = stdin.split('\n').map((line) => {
    const characters = Array.from({ length: line.length }, (_, at) => line.slice(at, at + 1))
    return Text.join(characters.toReversed())
  })
  return Text.join(reversed, '\n')
}

const cat: Follow = ({ args, stdin, scope, shell }) => {
  const operands = args.filter((word) => !word.test(/^-./))
  const input = stdin ?? unknown
  if (operands.length === 0) return input
  return Text.join(
    operands.map((path) => (path.is('-') ? input : (shell.readFile(path, scope) ?? unknown))),
  )
}

const tee: Follow = ({ args, stdin, shell, scope }) => {
  for (const word of args) shell.write(word, stdin ?? unknown, scope)
  return stdin ?? unknown
}

/** The lines that a pattern lets through; what a name stands for is then no longer everything. */
const grep: Follow = ({ args, stdin }) => {
  const [pattern, ...files] = operandsOf(args)
  if (stdin === null || files.length > 0) return unknown
  if (args.some((word) => word.test(/^-[a-zA-Z]*v|^--invert/))) return stdin
  const kept = stdin.split('\n').flatMap((line) => {
    if (line.has('*')) return [Text.join([line, 'named'])]
    return line.length > 8 || mayMatch(pattern?.chars ?? '', line.chars) ? [line] : []
  })
  return Text.join(kept, '\n')
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
const tr: Follow = (call) =>
  call.args.every((word) => word.test(/^(?:-[ds]|\\n|\\0| |\n)$/))
    ? (call.stdin ?? unknown)
    : unfollowedOutput(call)

const sameLines: Follow = ({ args, stdin }) =>
  args.some((word) => word.test(/^[^-\d]/)) ? unknown : (stdin ?? unknown)

// Programs that print names.

const list: Follow = ({ args }) => {
  const folders = operandsOf(args)
  if (folders.length === 0) return lines([anyText])
  const isAbsolute = args.some((word) => word.test(/^-\w*d/))
  return lines(folders.map((folder) => (isAbsolute || folder.has('*') ? folder : anyText)))
}

const which: Follow = ({ args }) => {
  const last = args.at(-1)
  return last ? lines([last]) : empty
}

const eachOperand =
  (change: (path: Text) => Text): Follow =>
  ({ args }) =>
    Text.join(operandsOf(args).map(change), '\n')

const withoutSlashes = (path: Text): Text =>
  path.slice(0, path.length - (/\/+$/.exec(path.chars)?.[0].length ?? 0))

function folderOf(path: Text): Text {
  const trimmed = withoutSlashes(path)
  const at = trimmed.chars.lastIndexOf('/')
  if (at < 0) return path.isKnown ? new Text('.') : unknown
  return at === 0 ? new Text('/') : trimmed.slice(0, at)
}

/** A folder that is made for this run. */
const temporary: Follow = () => new Text('/tmp/tmp.made/for-this-run')

const git: Follow = ({ args, scope }) => {
  if (args[0]?.is('rev-parse') && args.some((word) => word.is('--show-toplevel'))) {
    return scope.directories[0] ?? unknown
  }
  if (!args[0]?.is('ls-files')) return unknown
  // What is not tracked may be anything.
  const isOthers = args.some((word) => word.test(/^-[a-z]*o|^--others$/))
  const isIgnored = args.some((word) => word.test(/^-[a-z]*i|^--ignored$/))
  return isOthers && !isIgnored ? lines([anyText]) : lines([Text.join([anyText, 'x'])])
}

const same = (path: Text): Text => path

/** Commands of which it is known what they print. */
export const printingCommands: Commands = new Map([
  ['echo', echo],
  ['printf', printf],
  ['cat', cat],
  ['tac', cat],
  ['tee', tee],
  ['base64', base64],
  ['xxd', xxd],
  ['rev', rev],
  ['grep', grep],
  ['egrep', grep],
  ['fgrep', grep],
  ['sort', sameLines],
  ['uniq', sameLines],
  ['head', sameLines],
  ['tail', sameLines],
  ['tr', tr],
  ['ls', list],
  ['dir', list],
  ['which', which],
  ['basename', eachOperand((path) => withoutSlashes(path).split('/').at(-1) ?? path)],
  ['dirname', eachOperand(folderOf)],
  ['realpath', eachOperand(same)],
  ['readlink', eachOperand(same)],
  ['pwd', ({ scope }) => lines(scope.directories.slice(0))],
  ['mktemp', temporary],
  ['git', git],
])

/** Programs that turn one text into another; what they make of a constant is not followed. */
const filters = new Set(
  `tr sed awk gawk mawk cut openssl gunzip gzip zcat bunzip2 bzip2 xz unxz xzcat zstd uudecode base32
  basenc gpg perl python python3 ruby node php od hexdump fold paste sort uniq head tail grep egrep jq
  column`.split(/\s+/),
)

export function unfollowedOutput({ name, stdin }: Call): Text {
  if (stdin === null || stdin.length === 0 || !filters.has(name)) return unknown
  return stdin.isKnown || stdin.has('o') ? obscured : unknown
}
