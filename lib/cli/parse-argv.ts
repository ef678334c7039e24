import { cac } from 'cac'
import { MisuseError } from '../protocol/errors.ts'
import type { Flag } from '../protocol/flag.ts'
import { hintOf } from '../protocol/flag.ts'
import { check } from '../protocol/shape/check.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { unknownName } from '../protocol/wire.ts'

export interface ParsedArgv {
  /** By long name without `no-`: a text, a list of texts, true, or false where `--no-…` was given. */
  options: Record<string, unknown>
  positionals: string[]
}

/** Reads the words of a command line by a table of flags. Throws `MisuseError`. */
export function parseArgv(argv: readonly string[], flags: readonly Flag[]): ParsedArgv {
  const cli = cac('nacre')
  const { marked, used } = markValues(argv, flags)
  for (const flag of used) {
    const names = flag.short ? `-${flag.short}, --${flag.name}` : `--${flag.name}`
    cli.option(flag.shape === null ? names : `${names} <value>`, flag.description)
  }
  cli.globalCommand.ignoreOptionDefaultValue()
  const { args, options } = cli.parse(['', '', ...marked], { run: false })
  const parsed: ParsedArgv = { options: {}, positionals: [...args, ...(options['--'] as string[])] }
  for (const flag of used) {
    const key = optionKey(flag)
    const given: unknown = options[toOptionName(key)]
    if (given !== undefined && !(key in parsed.options)) parsed.options[key] = unmark(flag, given)
  }
  return parsed
}

/** The key of a flag in `options`: `--no-guard` and `--guard` are two sides of `guard`. */
export function optionKey(flag: Flag): string {
  return flag.name.replace(/^no-/, '')
}

function toOptionName(key: string): string {
  return key.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Stands before each value: cac makes numbers of `1e3` and `007` and drops a value like `-x`. */
const mark = ':'

interface MarkedWords {
  marked: string[]
  /** cac takes its time for each flag that it is told of. */
  used: Set<Flag>
}

/** Gives every value its flag and its mark, so that all of them arrive as they were written. */
function markValues(argv: readonly string[], flags: readonly Flag[]): MarkedWords {
  const marked: string[] = []
  const used = new Set<Flag>()
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? ''
    if (word === '--') {
      marked.push(...argv.slice(index))
      break
    }
    if (!/^-./.test(word)) {
      marked.push(word)
      continue
    }
    const equals = word.startsWith('--') ? word.indexOf('=') : -1
    const name = equals < 0 ? word : word.slice(0, equals)
    const flag = findFlag(name, flags)
    used.add(flag)
    if (flag.shape === null) {
      if (equals >= 0) throw new MisuseError('wrong_usage', `\`${name}\` takes no value`)
      marked.push(flag.name.startsWith('no-') ? `--${flag.name}` : `--${flag.name}=true`)
      continue
    }
    const value = equals < 0 ? argv[++index] : word.slice(equals + 1)
    if (value === undefined) {
      throw new MisuseError(
        'wrong_usage',
        `\`${name}\` needs a value: ${name} <${hintOf(flag.shape)}>`,
      )
    }
    marked.push(`--${flag.name}=${mark}${value}`)
  }
  return { marked, used }
}

function findFlag(word: string, flags: readonly Flag[]): Flag {
  const found = flags.find(({ name, short }) => word === `--${name}` || word === `-${short}`)
  if (found) return found
  throw unknownName(
    'option',
    word,
    flags.map((flag) => `--${flag.name}`),
  )
}

function unmark(flag: Flag, given: unknown): unknown {
  // cac leaves `--ignore-case=true` a text where the name has a dash and a short one.
  if (flag.shape === null) return given === 'true' ? true : given
  if (given === false) return given
  const texts = [given].flat().map((value) => String(value).slice(mark.length))
  if (flag.shape.kind === 'list' || flag.shape.kind === 'record') return texts
  return convert(`--${flag.name}`, texts.at(-1) ?? '', flag.shape)
}

/** A word of the command line as the value that it stands for. */
function convert(name: string, word: string, shape: Shape): unknown {
  const isNumber = word.trim() !== '' && Number.isFinite(Number(word))
  const value = shape.kind === 'number' && isNumber ? Number(word) : word
  return check(shape, value, name, { names: 'wire' })
}
