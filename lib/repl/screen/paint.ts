import type { IBufferCell, IBufferLine } from '@xterm/headless'

/**
 * One line of an emulated screen as text with its colours, ready to be written at column 0; `isFull`
 * where the next one goes on with it, so that blanks at its end are text.
 */
export function paintLine(
  line: IBufferLine | undefined,
  columns: number,
  { colored, isFull }: { colored: boolean; isFull: boolean },
): string {
  let text = ''
  let look = ''
  let cell: IBufferCell | undefined
  for (let column = 0; line && column < Math.min(columns, line.length); column++) {
    cell = line.getCell(column, cell)
    if (!cell || cell.getWidth() === 0) continue
    // A wide character that has no room in the last column leaves it empty.
    if (isFull && column === columns - 1 && cell.getChars() === '') continue
    const next = describe(cell, colored)
    if (next !== look) text += `\u001B[0${next}m`
    look = next
    text += cell.getChars() || ' '
  }
  if (look === '') return isFull ? text : text.trimEnd()
  return `${text}\u001B[0m`
}

/** Parameters of SGR (ECMA-48 8.3.117) that follow a reset. */
function describe(cell: IBufferCell, colored: boolean): string {
  const attributes = [
    cell.isBold() && ';1',
    cell.isDim() && ';2',
    cell.isItalic() && ';3',
    cell.isUnderline() && ';4',
    cell.isBlink() && ';5',
    cell.isInverse() && ';7',
    cell.isInvisible() && ';8',
    cell.isStrikethrough() && ';9',
  ]
  const text = attributes.filter((attribute) => typeof attribute === 'string').join('')
  if (!colored) return text
  const front = color(3, cell.getFgColor(), cell.isFgPalette(), cell.isFgRGB())
  return text + front + color(4, cell.getBgColor(), cell.isBgPalette(), cell.isBgRGB())
}

function color(ground: 3 | 4, value: number, isPalette: boolean, isRgb: boolean): string {
  if (isPalette) return `;${ground}8;5;${value}`
  if (isRgb) return `;${ground}8;2;${value >> 16};${(value >> 8) & 255};${value & 255}`
  return ''
}
