import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@mariozechner/pi-tui/dist/utils.js'

/** Colours and marks; plain text without colours. */
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

/** Columns that a text takes, wide and combining characters and escape sequences counted right. */
export function widthOf(text: string): number {
  return visibleWidth(text)
}

/** Cut to so many columns; an ellipsis says so. */
export function fit(text: string, columns: number): string {
  return truncateToWidth(text, Math.max(0, columns), '…')
}

/** Over as many lines as it needs, at words where it can. */
export function wrap(text: string, columns: number): string[] {
  return wrapTextWithAnsi(text, Math.max(1, columns))
}

/** Tabs as the spaces up to the next multiple of eight. */
export function expandTabs(line: string): string {
  if (!line.includes('\t')) return line
  let expanded = ''
  for (const [index, piece] of line.split('\t').entries()) {
    if (index > 0) expanded += ' '.repeat(8 - (widthOf(expanded) % 8))
    expanded += piece
  }
  return expanded
}

/** As many of the parts, from the first on, as have room in one line. */
export function joinFitting(parts: readonly string[], columns: number): string {
  const [first = '', ...others] = parts
  let text = fit(first, columns)
  for (const part of others) {
    if (widthOf(text) + widthOf(part) + 3 > columns) break
    text += ` · ${part}`
  }
  return text
}

/** A command of many lines in one. */
export function oneLine(text: string): string {
  return text.replaceAll('\n', ' ⏎ ')
}

/** `~` for the home folder. */
export function shortenHome(path: string, home: string | undefined): string {
  if (!home || home === '/') return path
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/** `1.2 MB` */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const power = Math.min(4, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** power).toFixed(1)} ${['kB', 'MB', 'GB', 'TB'][power - 1]}`
}

/** `1 line`, `1,234 lines` */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
