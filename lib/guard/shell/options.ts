import { empty, type Text } from './text.ts'

/** How a program reads its options. Names of long options stand in one text, a space between two. */
export interface OptionStyle {
  /** Short options that take a value, attached or as the next word. */
  readonly shortValues?: string
  /** Long options that take a value, after `=` or as the next word. */
  readonly longValues?: string
  /** All other long options that matter, for abbreviations. */
  readonly longFlags?: string
  /** Options end at the first operand, as with wrappers and subcommands. */
  readonly stopsAtOperand?: boolean
}

/** The arguments of a program, told apart. Options stand without their dashes. */
export class Options {
  /** The names of the options in their order, with abbreviations completed. */
  readonly flags: string[] = []
  /** Options that have something unknown in them. */
  readonly unknownFlags: Text[] = []
  readonly values: { readonly name: string; readonly value: Text }[] = []
  readonly operands: Text[] = []

  has(...names: readonly string[]): boolean {
    return names.some((name) => this.flags.includes(name))
  }

  /** All values of these options, in order. */
  valuesOf(...names: readonly string[]): Text[] {
    return this.values.flatMap(({ name, value }) => (names.includes(name) ? value : []))
  }

  /** The value that counts, which is the last one. */
  valueOf(...names: readonly string[]): Text | null {
    return this.valuesOf(...names).at(-1) ?? null
  }
}

/** Reads arguments as getopt_long does: clusters, attached values, abbreviations, `--`. */
export function readOptions(words: readonly Text[], style: OptionStyle): Options {
  const options = new Options()
  const { flags, values, operands, unknownFlags } = options
  const { shortValues = '' } = style
  const longValues = namesIn(style.longValues)
  const longNames = longValues.concat(namesIn(style.longFlags))
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? empty
    const isOption = word.startsWith('-') && word.length > 1
    if (word.is('--') || (!isOption && style.stopsAtOperand)) {
      for (const rest of words.slice(index + (isOption ? 1 : 0))) operands.push(rest)
      break
    }
    if (!isOption) {
      operands.push(word)
      continue
    }
    if (!word.isKnown) unknownFlags.push(word.slice(word.startsWith('--') ? 2 : 1))
    if (word.startsWith('--')) {
      const end = word.chars.indexOf('=')
      const name = complete(word.chars.slice(2, end < 0 ? undefined : end), longNames)
      flags.push(name)
      if (end >= 0) values.push({ name, value: word.slice(end + 1) })
      else if (longValues.includes(name)) values.push({ name, value: words[++index] ?? empty })
      continue
    }
    for (let at = 1; at < word.length; at++) {
      const letter = word.chars.charAt(at)
      flags.push(letter)
      if (!shortValues.includes(letter)) continue
      const attached = word.slice(at + 1)
      values.push({
        name: letter,
        value: attached.length > 0 ? attached : (words[++index] ?? empty),
      })
      break
    }
  }
  return options
}

const namesIn = (names: string | undefined): readonly string[] => names?.match(/\S+/g) ?? []

function complete(typed: string, names: readonly string[]): string {
  if (names.includes(typed)) return typed
  const candidates = names.filter((name) => name.startsWith(typed))
  return candidates.length === 1 ? (candidates[0] ?? typed) : typed
}
