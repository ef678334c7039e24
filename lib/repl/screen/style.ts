/** Colours and marks; plain text where colours are not wanted. */
export interface Style {
  salmon: (text: string) => string
  mint: (text: string) => string
  green: (text: string) => string
  red: (text: string) => string
  yellow: (text: string) => string
  cyan: (text: string) => string
  dim: (text: string) => string
  bold: (text: string) => string
  inverse: (text: string) => string
}

/** `NO_COLOR` (no-color.org) takes the colours and leaves weight and inversion. */
export function createStyle(environment: Readonly<Record<string, string | undefined>>): Style {
  const colored = !environment['NO_COLOR'] && environment['TERM'] !== 'dumb'
  const paint = (on: string, off: string, wanted: boolean) => (text: string) =>
    wanted && text !== '' ? `\u001B[${on}m${text}\u001B[${off}m` : text
  return {
    // From the 256 colours: #ff875f and #87ffaf.
    salmon: paint('38;5;209', '39', colored),
    mint: paint('38;5;121', '39', colored),
    green: paint('32', '39', colored),
    red: paint('31', '39', colored),
    yellow: paint('33', '39', colored),
    cyan: paint('36', '39', colored),
    dim: paint('2', '22', colored),
    bold: paint('1', '22', true),
    inverse: paint('7', '27', true),
  }
}

/** A line in which all that matches stands out. */
export function markMatches(line: string, pattern: RegExp | null, style: Style): string {
  return pattern
    ? line.replace(new RegExp(pattern, `g${pattern.flags}`), (found) =>
        found === '' ? '' : style.inverse(found),
      )
    : line
}
