import { join } from 'node:path'

/** A word that every POSIX shell reads back as exactly this text. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** Words as one command line that a shell reads back as exactly these; plain ones stay as they are. */
export function joinWords(words: readonly string[]): string {
  return words.map((word) => (plainWord.test(word) ? word : quoteWord(word))).join(' ')
}

/** Nothing in it means anything to a shell, also not at the beginning of a command. */
const plainWord = /^[A-Za-z0-9_@%+:,./-]+$/

/** A path that begins with `~` or `~/` begins at the home, as a shell has it. */
export function expandHome(path: string, home: string | undefined): string {
  if (home === undefined) return path
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

/** The first characters of a text, at most `length` units of UTF-16; no character is cut in half. */
export function startOf(text: string, length: number): string {
  const isHalf = text.length > length && /[\uD800-\uDBFF]/.test(text[length - 1] ?? '')
  return text.slice(0, isHalf ? length - 1 : length)
}

/** The lines of a text; a last newline begins no other one. */
export function splitLines(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

/** A description as it goes on behind a colon. */
export function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

const secondsOf: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 }

/** `90`, `-1`, `500ms`, `30s`, `5m`, `2h` in seconds; null where it is none of these. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = 's'] = /^(-?\d+(?:\.\d*)?|\.\d+)(ms|s|m|h)?$/.exec(text.trim()) ?? []
  return amount === undefined ? null : Number(amount) * (secondsOf[unit] ?? 1)
}
