import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@mariozechner/pi-tui/dist/utils.js'

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

/** `left` and, if there is room, `right` at the other edge. */
export function spread(left: string, right: string, columns: number): string {
  const gap = columns - widthOf(left) - widthOf(right)
  return gap > 0 ? left + ' '.repeat(gap) + right : fit(left, columns)
}

/** The end of a text, where not all of it has room: of what is typed that is what is seen. */
export function lastColumns(text: string, columns: number): string {
  let shown = text
  while (widthOf(shown) > columns) shown = shown.slice(1)
  return shown
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

/** `1.2 MB` */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value.toFixed(1)} ${units[unit]}`
}

/** `1 line`, `1,234 lines` */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}
