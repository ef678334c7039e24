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

const formatOnce = (format: Text, values: Text[]): Text =>
  unescape(format).replace(/%(?:%|[-+ #0]*[\d*]*(?:\.[\d*]+)?([a-zA-Z]))/g, ([, kind]) => {
    if (kind === undefined) return '%'
    const value = values.shift() ?? empty
    return kind === 'b' ? unescape(value) : 'sqdi'.includes(kind) ? value : given
  })

const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\' }

function unescape(text: Text): Text {
  return text.replace(/\\(?:x([\da-f]{1,2})|0?([0-7]{1,3})|([ntr\\]))/gi, ([, hex, octal, name]) =>
    name !== undefined
      ? (named[name] ?? '')
      : String.fromCharCode(Number.parseInt(hex ?? octal ?? '', hex === undefined ? 8 : 16)),
  )
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

/** Which lines a pattern lets through is not followed: of what a search found it is only a part. */
const grep: Follow = ({ args, stdin }) => {
  if (stdin === null || operandsOf(args).length > 1) return unknown
  if (!stdin.isGlob) return stdin
  return lines(stdin.split('\n').map((line) => Text.join([line, '/named'])))
}

const sameLines: Follow = ({ args, stdin }) =>
  args.some((word) => word.test(/^[^-\d]/)) ? unknown : (stdin ?? unknown)

const list: Follow = ({ args }) => {
  const folders = operandsOf(args)
  return lines(
    folders.length === 0 ? [anyText] : folders.map((one) => (one.isGlob ? one : anyText)),
  )
}

const lastOperand: Follow = ({ args }) => lines(args.slice(-1))

const eachOperand =
  (change: (path: Text) => Text): Follow =>
  ({ args }) =>
    lines(operandsOf(args).map((path) => change(withoutSlashes(path))))

const withoutSlashes = (path: Text): Text =>
  path.slice(0, path.length - (/\/+$/.exec(path.chars)?.[0].length ?? 0))

function folderOf(path: Text): Text {
  const at = path.chars.lastIndexOf('/')
  if (at < 0) return path.isKnown ? new Text('.') : unknown
  return at === 0 ? new Text('/') : path.slice(0, at)
}

/** A folder that is made for this run. */
const temporary: Follow = () => new Text('/tmp/tmp.made/for-this-run')

const git: Follow = ({ args, scope: { directories } }) => {
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  if (args[0]?.is('rev-parse') && has(/^--show-toplevel$/)) return directories[0] ?? unknown
  if (!args[0]?.is('ls-files')) return unknown
  // What is not tracked may be anything.
  const isEverything = has(/^-[a-z]*o|^--others$/) && !has(/^-[a-z]*i|^--ignored$/)
  return lines([isEverything ? anyText : Text.join([anyText, 'x'])])
}

/** Commands of which it is known what they print. */
export const printingCommands: Commands = new Map([
  ['echo', echo],
  ['printf', printf],
  ['cat', cat],
  ['tee', tee],
  ['grep', grep],
  ['egrep', grep],
  ['sort', sameLines],
  ['uniq', sameLines],
  ['head', sameLines],
  ['tail', sameLines],
  ['ls', list],
  ['which', lastOperand],
  ['basename', eachOperand((path) => path.split('/').at(-1) ?? path)],
  ['dirname', eachOperand(folderOf)],
  ['realpath', lastOperand],
  ['readlink', lastOperand],
  ['pwd', ({ scope }) => lines(scope.directories)],
  ['mktemp', temporary],
  ['git', git],
])

/** What any other program makes of a constant is not followed: what comes of it is asked about. */
export const unfollowedOutput = ({ stdin }: Call): Text =>
  stdin !== null && stdin.length > 0 && (stdin.isKnown || stdin.has('o')) ? obscured : unknown
