import { wrongUsage } from '../protocol/errors.ts'
import { type Flag, hintOf, optionKey } from '../protocol/request/fields.ts'
import { check } from '../protocol/shape/check.ts'
import type { RunFields } from '../protocol/request/request.ts'
import { isNumber, isObject, isPath, type Shape } from '../protocol/shape/shape.ts'
import { unknownName } from '../protocol/wire.ts'
import { expandHome } from '../protocol/words.ts'

export interface ParsedArgv {
  /** By their keys: a value, a list of them, true, or false where `--no-…` was given. */
  options: Record<string, unknown>
  /** The fields of a request that options set. */
  run: RunFields
  positionals: string[]
  /** Whether `--` stood before the first of the positionals. */
  isSeparated: boolean
  /** Options for the shell itself, as bash has them and in their order: `-e`, `-o pipefail`, `--norc`. */
  shellOptions: string[]
}

export interface ParseOptions {
  /** What `~` stands for in a path. */
  home?: string | undefined
  /**
   * The words are also those of a shell: its own options are taken, and the first word that is no option ends the
   * options, unless one of them asks for prompts. Default: options and words may be mixed.
   */
  asShell?: boolean
}

/** The options that bash has for the shell itself. */
const shellLetters = /[abefhikmnprtuvxBCEHPT]/
const shellLettersWithName = /[oO]/
const shellWords = /^--(?:norc|noprofile|noediting|posix|restricted|verbose)$/

/** Options with which words are prompts, and more options may stand behind them. */
const promptOptions = ['print', 'rpc', 'mode']

/**
 * Reads the words of a command line by a table of flags, as a shell reads its own: short options may be joined, as
 * in `-euo pipefail`, and the value of `-c` is the first word that is no option, as in `-c -e 'echo hi'` or
 * `-c -- 'echo hi'`. Throws `MisuseError`.
 */
export function parseArgv(
  argv: readonly string[],
  flags: readonly Flag[],
  { home, asShell = false }: ParseOptions = {},
): ParsedArgv {
  const options: Record<string, unknown> = {}
  const run: Record<string, unknown> = {}
  const shellOptions: string[] = []
  const positionals: string[] = []
  let isSeparated = false
  let at = 0
  /** The flag whose value is the next word that is no option. */
  let waiting: Flag | null = null
  /** The value of such a flag was read: the next word that is no option begins the words of its command. */
  let isCommandRead = false

  /** The word that is the value of an option. */
  function takeValue(name: string, hint: string): string {
    const value = argv[at++]
    if (value !== undefined) return value
    throw wrongUsage(`\`${name}\` needs a value: ${name} <${hint}>`)
  }

  /** Keeps what an option says; of a list or a record, with what was said before. */
  function keep(flag: Flag, said: unknown): void {
    const key = optionKey(flag)
    const former = options[key]
    if (Array.isArray(said) && Array.isArray(former)) options[key] = [...former, ...said]
    else options[key] = isObject(said) && isObject(former) ? { ...former, ...said } : said
    if (flag.field) run[flag.field] = flag.shape === null ? flag.value : options[key]
  }

  /** Takes one option. */
  function take(name: string, flag: Flag, given?: string): void {
    const { shape } = flag
    if (shape === null) {
      if (given !== undefined) throw wrongUsage(`\`${name}\` takes no value`)
      return keep(flag, !flag.name.startsWith('no-'))
    }
    if (flag.takesFirstWord) {
      if (waiting || isCommandRead) throw wrongUsage(`\`${name}\` was given twice; give it once`)
      isCommandRead = name.startsWith('--')
      waiting = isCommandRead ? null : flag
      if (waiting) return
    }
    keep(flag, readWord(`--${flag.name}`, given ?? takeValue(name, hintOf(shape)), shape, home))
  }

  /** Takes short options in one word. A number may stand in it, as in `-C3`; a name is the next word. */
  function takeJoined(word: string): void {
    const [sign = '', ...letters] = word
    for (const [index, letter] of letters.entries()) {
      const name = `${sign}${letter}`
      const flag = sign === '-' ? flags.find(({ short }) => short === letter) : undefined
      const rest = letters.slice(index + 1).join('')
      if (flag?.shape && isNumber(flag.shape) && rest !== '') return take(name, flag, rest)
      if (flag) take(name, flag)
      else if (asShell && shellLetters.test(letter)) shellOptions.push(name)
      else if (asShell && shellLettersWithName.test(letter))
        shellOptions.push(`${name} ${takeValue(name, 'name')}`)
      else throw unknownOption(word)
    }
  }

  function takeLong(word: string): void {
    if (asShell && shellWords.test(word)) {
      shellOptions.push(word)
      return
    }
    const [, name = '', given] = /^([^=]+)(?:=([^]*))?$/.exec(word) ?? []
    const flag = flags.find((known) => `--${known.name}` === name)
    if (!flag) throw unknownOption(name)
    take(name, flag, given)
  }

  function unknownOption(word: string): Error {
    const names = flags.map(({ name }) => `--${name}`)
    return unknownName('option', word, names)
  }

  /** Gives the next word to the flag that waits for one. False: none waits. */
  function giveToWaiting(): boolean {
    if (!waiting?.shape) return false
    const { shape, short } = waiting
    keep(waiting, readWord(`-${short}`, takeValue(`-${short}`, hintOf(shape)), shape, home))
    waiting = null
    isCommandRead = true
    return true
  }

  while (at < argv.length) {
    const word = argv[at] ?? ''
    const isShell = asShell && !promptOptions.some((name) => options[name] !== undefined)
    if (isCommandRead && !/^-[^-]|^--./.test(word)) break
    if (word === '--' || (word === '-' && isShell)) {
      at++
      if (giveToWaiting()) break
      isSeparated = word === '--' && positionals.length === 0
      // A shell without a script reads its commands from standard input.
      if (word === '-' && at === argv.length) options['stdin'] = true
      break
    }
    if (/^-./.test(word) || (isShell && /^\+[a-z]/i.test(word))) {
      at++
      if (word.startsWith('--')) takeLong(word)
      else takeJoined(word)
    } else if (!giveToWaiting()) {
      if (isShell) break
      positionals.push(word)
      at++
    }
  }
  giveToWaiting()
  positionals.push(...argv.slice(at))
  return { options, run, positionals, isSeparated, shellOptions }
}

/** A word of the command line as the value that it stands for; of a list or a record one part. */
function readWord(name: string, word: string, shape: Shape, home: string | undefined): unknown {
  if (shape.items) return [readWord(name, word, shape.items, home)]
  if (shape.type === 'object') {
    const equals = word.indexOf('=')
    if (equals > 0) return { [word.slice(0, equals)]: word.slice(equals + 1) }
    throw wrongUsage(`\`${name}\` needs NAME=VALUE, not "${word}"`)
  }
  const isPlain = isNumber(shape) && shape.unit !== 'seconds'
  const text = isPath(shape) ? expandHome(word, home) : word
  return check(shape, isPlain ? (parseNumber(word) ?? word) : text, name, { names: 'wire' })
}

function parseNumber(word: string): number | null {
  return word.trim() !== '' && Number.isFinite(Number(word)) ? Number(word) : null
}
