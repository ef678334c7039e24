/** How a program reads its options. */
export interface OptionStyle {
  /** Short options that take a value, attached or as the next word. */
  readonly shortValues?: string
  /** Long options that take a value, after `=` or as the next word. */
  readonly longValues?: readonly string[]
  /** All other long options that matter, for abbreviations. */
  readonly longFlags?: readonly string[]
  /** Options end at the first operand, as with wrappers and subcommands. */
  readonly stopsAtOperand?: boolean
}

export interface ReadOptions {
  /** Without dashes, in order, abbreviations completed. */
  readonly flags: readonly string[]
  readonly values: ReadonlyMap<string, string>
  readonly operands: readonly string[]
}

/** Reads arguments as getopt_long does: clusters, attached values, abbreviations, `--`. */
export function readOptions(words: readonly string[], style: OptionStyle): ReadOptions {
  const flags: string[] = []
  const values = new Map<string, string>()
  const operands: string[] = []
  const { shortValues = '', longValues = [], longFlags = [] } = style
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    if (word === '--') {
      operands.push(...words.slice(index + 1))
      break
    }
    if (word.startsWith('--')) {
      const [, typed = '', attached] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? []
      const name = complete(typed, longValues, longFlags)
      flags.push(name)
      if (attached !== undefined) values.set(name, attached)
      else if (longValues.includes(name)) values.set(name, words[++index] ?? '')
    } else if (word.startsWith('-') && word.length > 1) {
      for (let at = 1; at < word.length; at++) {
        const letter = word.charAt(at)
        flags.push(letter)
        if (!shortValues.includes(letter)) continue
        values.set(letter, at + 1 < word.length ? word.slice(at + 1) : (words[++index] ?? ''))
        break
      }
    } else if (style.stopsAtOperand) {
      operands.push(...words.slice(index))
      break
    } else operands.push(word)
  }
  return { flags, values, operands }
}

function complete(typed: string, ...known: (readonly string[])[]): string {
  const names = known.flat()
  if (names.includes(typed)) return typed
  const candidates = names.filter((name) => name.startsWith(typed))
  return candidates.length === 1 ? (candidates[0] ?? typed) : typed
}
