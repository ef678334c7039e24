import type { Style } from '../screen/style.ts'

/** A line in which all that matches stands out. */
export function mark(line: string, pattern: RegExp | null, style: Style): string {
  return pattern
    ? line.replace(new RegExp(pattern, `g${pattern.flags}`), (found) =>
        found === '' ? '' : style.inverse(found),
      )
    : line
}

/** As a regular expression; what is none is looked for as it is. Capitals in it count, as in less -i. */
export function compile(text: string): RegExp {
  const flags = /\p{Lu}/u.test(text) ? 'u' : 'iu'
  try {
    return new RegExp(text, flags)
  } catch {
    return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), flags)
  }
}
