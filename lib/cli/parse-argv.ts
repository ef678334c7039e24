import { wrongUsage } from '../protocol/errors.ts'
import { type Flag, hintOf } from '../protocol/request/fields.ts'
import { check } from '../protocol/shape/check.ts'
import type { Shape } from '../protocol/shape/shape.ts'
import { unknownName } from '../protocol/wire.ts'
import { expandHome } from '../protocol/words.ts'
import { shellOptionList } from './shell-flags.ts'

export interface ParsedArgv {
  /** The options by long name without `no-`: a value, a list of them, true, or false where `--no-…` was given. */
  options: Record<string, unknown>
  positionals: string[]
  /** Whether `--` stood before the first of the positionals. */
  isSeparated: boolean
}

export interface ParseOptions {
  /** What `~` stands for in a path. */
  home?: string | undefined
  /**
   * Asked at each word that is no option (or `--`), with the names of the options before it: whether
   * options may still follow. Where not, all words from this one on are positionals. Default: always.
   */
  goesOn?: (word: string, given: ReadonlySet<string>) => boolean
  /** What `+` and letters switch off, in front of a command or a script. Default: nothing. */
  offFlags?: readonly Flag[]
}

/**
 * Reads the words of a command line by a table of flags, as a shell reads its own: short options may be joined, as
 * in `-euo pipefail`, and the value of `-c` is the first word that is no option, as in `-c -e 'echo hi'` or
 * `-c -- 'echo hi'`. Throws `MisuseError`.
 */
export function parseArgv(
  argv: readonly string[],
  flags: readonly Flag[],
  { goesOn = () => true, offFlags = [], home }: ParseOptions = {},
): ParsedArgv {
  const options: Record<string, unknown> = {}
  const names = new Set<string>()
  const positionals: string[] = []
  let isSeparated = false
  const shellOptions: string[] = []
  /** The flag whose value is the next word that is no option. */
  let waiting: Flag | null = null
  let firstWordIsTaken = false

  /** Takes one option; gives how many of the words behind it were its value. */
  function take(name: string, flag: Flag, given: string | undefined, next?: string): 0 | 1 {
    if (flag.isSingle && names.has(flag.name)) {
      throw wrongUsage(`\`${name}\` was given twice; give it once`)
    }
    names.add(flag.name)
    if (flag.shape === null) {
      if (given !== undefined) throw wrongUsage(`\`${name}\` takes no value`)
      if (flag.toShellOption) {
        shellOptions.push(flag.toShellOption(''))
        return 0
      }
      options[optionKey(flag)] = !flag.name.startsWith('no-')
      return 0
    }
    if (flag.takesFirstWord) firstWordIsTaken = true
    if (flag.takesFirstWord && !name.startsWith('--')) {
      waiting = flag
      return 0
    }
    assign(name, flag, flag.shape, given ?? next)
    return given === undefined ? 1 : 0
  }

  function assign(name: string, flag: Flag, shape: Shape, value: string | undefined): void {
    if (value === undefined) {
      const usage = `${name} <${hintOf(shape)}>`
      throw wrongUsage(`\`${name}\` needs a value: ${usage}`)
    }
    if (flag.toShellOption) {
      shellOptions.push(flag.toShellOption(value))
      return
    }
    const key = optionKey(flag)
    const read = readWord(`--${flag.name}`, value, shape, home)
    const isMany = shape.kind === 'list' || shape.kind === 'record'
    options[key] = isMany ? [...((options[key] as unknown[] | undefined) ?? []), read] : read
  }

  /** Gives the option that waits for a word this one. False: none waits. */
  function giveToWaiting(word: string | undefined): boolean {
    if (waiting?.shape == null) return false
    assign(`-${waiting.short}`, waiting, waiting.shape, word)
    waiting = null
    return true
  }

  /**
   * Takes short options in one word. A number may stand in it, as in `-C3`; a name is the next word, as it
   * is to a shell in `-oe pipefail`. Gives how many of the next words were values.
   */
  function takeJoined(word: string, next: readonly string[]): number {
    let taken = 0
    for (let at = 1; at < word.length; at++) {
      const name = `${word[0]}${word[at]}`
      const flag = findFlag(`-${word[at]}`, word[0] === '+' ? offFlags : flags, word)
      const rest = word.slice(at + 1)
      if (flag.shape?.kind === 'number' && rest !== '') return taken + take(name, flag, rest)
      taken += take(name, flag, undefined, next[taken])
    }
    return taken
  }

  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? ''
    const next = argv[index + 1]
    if (word === '--') {
      const isCommand = giveToWaiting(next)
      const isWord = !isCommand && !goesOn(word, names)
      isSeparated = !isCommand && !isWord && positionals.length === 0
      positionals.push(...argv.slice(index + (isCommand ? 2 : isWord ? 0 : 1)))
      break
    }
    const mayBeOff = waiting !== null || (!firstWordIsTaken && !goesOn(word, names))
    if (mayBeOff && word === '-' && offFlags.length > 0) {
      // To a shell no option follows, and its commands are on standard input where no script does.
      const isCommand = giveToWaiting(next)
      if (!isCommand && next === undefined) takeJoined('-s', [])
      positionals.push(...argv.slice(index + (isCommand ? 2 : 1)))
      break
    }
    if (mayBeOff && /^\+[a-z]/i.test(word) && offFlags.length > 0) {
      index += takeJoined(word, argv.slice(index + 1))
    } else if (!/^-./.test(word)) {
      if (giveToWaiting(word)) continue
      const end = goesOn(word, names) ? index + 1 : argv.length
      positionals.push(...argv.slice(index, end))
      index = end - 1
    } else if (word.startsWith('--')) {
      const equals = word.indexOf('=')
      const name = equals < 0 ? word : word.slice(0, equals)
      const given = equals < 0 ? undefined : word.slice(equals + 1)
      index += take(name, findFlag(name, flags), given, next)
    } else {
      index += takeJoined(word, argv.slice(index + 1))
    }
  }
  giveToWaiting(undefined)
  if (shellOptions.length > 0) options[shellOptionList] = shellOptions
  return { options, positionals, isSeparated }
}

/** The key of a flag in `options`: `--no-guard` and `--guard` are two sides of `guard`. */
export function optionKey(flag: Flag): string {
  return flag.name.replace(/^no-/, '')
}

function findFlag(word: string, flags: readonly Flag[], within = word): Flag {
  const found = flags.find(({ name, short }) => word === `--${name}` || word === `-${short}`)
  if (found) return found
  throw unknownName(
    'option',
    within,
    flags.map((flag) => `--${flag.name}`),
  )
}

/** A word of the command line as the value that it stands for; of a list or a record one of its parts. */
function readWord(name: string, word: string, shape: Shape, home: string | undefined): unknown {
  switch (shape.kind) {
    case 'list':
      return readWord(name, word, shape.items, home)
    case 'record':
      return word
    case 'text': {
      const isPath = shape.hint === 'dir' || shape.hint === 'path'
      return check(shape, isPath ? expandHome(word, home) : word, name, { names: 'wire' })
    }
    case 'number': {
      const value = shape.unit === 'seconds' ? word : (parseNumber(word) ?? word)
      return check(shape, value, name, { names: 'wire' })
    }
    default:
      return check(shape, word, name, { names: 'wire' })
  }
}

function parseNumber(word: string): number | null {
  return word.trim() !== '' && Number.isFinite(Number(word)) ? Number(word) : null
}
