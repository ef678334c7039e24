import { readOptions } from '../shell/options.ts'
import { anyText, baseName, empty, fetched, given, obscured, Text, unknown } from '../shell/text.ts'
import type { Commands, Follow, Call } from './call.ts'

const cd: Follow = ({ args, scope }) => {
  const target = args.findLast((word) => word.is('-') || !word.test(/^-[LPe@]*$|^--$|^[+-]\d+$/))
  scope.enter(target === undefined ? (scope.variables.get('HOME') ?? [unknown]) : [target])
  return empty
}

const popd: Follow = ({ scope }) => {
  scope.enter([new Text('-')])
  return empty
}

/** `export`, `declare`, `local`, `readonly`, `typeset`: `NAME=value` words assign. */
const declare: Follow = ({ args, scope }) => {
  for (const word of args) {
    const [start = '', name] = /^([A-Za-z_]\w*)\+?=/.exec(word.chars) ?? []
    if (name !== undefined) scope.assign(name, [word.slice(start.length)])
  }
  return empty
}

/** `read a b`, `unset a`, `mapfile a`: what these variables hold afterwards is not followed. */
const forget: Follow = ({ args, scope }) => {
  for (const { chars: name } of args) {
    if (!/^[A-Za-z_]\w*$/.test(name)) continue
    scope.assign(name, [unknown])
    scope.functions.delete(name)
  }
  return empty
}

const set: Follow = ({ args, scope }) => {
  const at = args.findIndex(
    (word, index) => word.is('--') || (!word.test(/^[-+]/) && !args[index - 1]?.test(/^[-+]\w*o$/)),
  )
  if (at >= 0) scope.parameters = args.slice(args[at]?.is('--') ? at + 1 : at)
  return empty
}

const shift: Follow = ({ args, scope }) => {
  scope.parameters = scope.parameters?.slice(Number(args[0]?.chars ?? 1) || 1) ?? null
  return empty
}

const alias: Follow = ({ args, scope }) => {
  for (const word of args) {
    const at = word.chars.indexOf('=')
    if (at > 0) scope.aliases.set(word.chars.slice(0, at), word.slice(at + 1))
  }
  return empty
}

/** Commands that change the state of the shell. */
export const stateCommands: Commands = new Map(
  Object.entries({
    cd,
    pushd: cd,
    popd,
    export: declare,
    declare,
    typeset: declare,
    local: declare,
    readonly: declare,
    ...{ read: forget, unset: forget, mapfile: forget, readarray: forget, getopts: forget },
    set,
    shift,
    alias,
  }),
)

/** A longer text is not put together. */
const maxLength = 65_536

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
    return 'sbqdi'.includes(kind) ? value : given
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

const list: Follow = ({ args }) => {
  const folders = args.filter((word) => !word.startsWith('-'))
  return lines(
    folders.length === 0 ? [anyText] : folders.map((one) => (one.isGlob ? one : anyText)),
  )
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

/** What comes from the network is in a file, or printed. */
const fetch: Follow = ({ name, args, scope, shell }) => {
  const [letter, long, others] =
    name === 'wget' ? ['O', 'output-document', 'oPUe'] : ['o', 'output', 'HdXuAebFmTwx']
  const read = readOptions(args, { shortValues: letter + others, longValues: long })
  const target = read.valueOf(letter, long)
  const isNamed = name === 'wget' || (name === 'curl' && read.has('O', 'remote-name'))
  if (target?.is('-') || (!target && !isNamed)) return fetched
  for (const path of target ? [target] : read.operands.map(baseName))
    shell.write(path, fetched, scope)
  return unknown
}

/** Commands of which it is known what they print. */
export const printingCommands: Commands = new Map([
  ['echo', echo],
  ['printf', printf],
  ['cat', cat],
  ['ls', list],
  ['pwd', ({ scope }) => lines(scope.directories)],
  ...['curl', 'wget', 'fetch', 'http', 'https', 'xh', 'nc'].map((name): [string, Follow] => [
    name,
    fetch,
  ]),
  ['mktemp', temporary],
  ['git', git],
])

/** What any other program makes of a constant is not followed: what comes of it is asked about. */
export const unfollowedOutput = ({ stdin }: Call): Text =>
  stdin?.has('n')
    ? fetched
    : stdin !== null && stdin.length > 0 && (stdin.isKnown || stdin.has('o'))
      ? obscured
      : unknown
