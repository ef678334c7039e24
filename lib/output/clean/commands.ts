import type { Page } from './page.ts'
import type { ControlSequence } from './sequence.ts'

/** Pages that take the place of the text for a while: vim, less, htop. */
const alternateScreens = new Set([47, 1047, 1049])

/** Whether a control sequence switches to the other screen, or back from it; null: neither. */
export function switchScreen({ prefix, parameters, final }: ControlSequence): boolean | null {
  if (prefix !== '?' || (final !== 'h' && final !== 'l')) return null
  return parameters.some((mode) => alternateScreens.has(mode)) ? final === 'h' : null
}

/**
 * Carries a control sequence out on the page, which is opened when the text must change.
 * `false`: only a whole screen can tell what it does (absolute movement, scrolling, clearing).
 * What does not concern the text (modes, queries, colours) is carried out by dropping it.
 */
export function runSequence(sequence: ControlSequence, page: Page): boolean {
  const { prefix, parameters, intermediates, final } = sequence
  if (intermediates !== '' || (prefix !== '' && !(prefix === '?' && /[JK]/.test(final))))
    return true
  const count = Math.max(parameters[0] ?? 1, 1)
  const choice = Math.max(parameters[0] ?? 0, 0)
  switch (final) {
    case 'A':
    case 'F':
    case 'B':
    case 'e':
    case 'E':
    case 'C':
    case 'a':
    case 'D':
    case 'G':
    case '`':
    case 'b':
    case 's':
    case 'u':
      if (page.open()) move(final, count, page)
      return true
    case 'K':
      // With the cursor at the end of the text there is nothing to its right.
      if (choice === 0 && !page.isOpen) return true
      if (choice <= 2 && page.open())
        page.eraseLine(choice === 0 ? 'right' : choice === 1 ? 'left' : 'all')
      return true
    case 'J':
      if (choice === 1 || choice === 2) return false
      if (choice === 0 && page.isOpen) page.eraseBelow()
      return true
    case 'X':
      if (page.isOpen) page.eraseColumns(count)
      return true
    case 'P':
      if (page.isOpen) page.removeColumns(count)
      return true
    case '@':
      if (page.isOpen) page.insertColumns(count)
      return true
    case 'H':
    case 'f':
    case 'd':
    case 'r':
    case 'S':
    case 'T':
    case 'L':
    case 'M':
      return false
    default:
      return true
  }
}

function move(final: string, count: number, page: Page): void {
  // A next line that is not there yet: staying would write over this one, which is finished.
  if (final === 'E' && page.isAtLastLine) return page.newline()
  if (final === 'A' || final === 'F') page.up(count)
  else if (final === 'B' || final === 'e' || final === 'E') page.down(count)
  else if (final === 'C' || final === 'a') page.moveColumns(count)
  else if (final === 'D') page.moveColumns(-count)
  else if (final === 'b') page.repeat(count)
  else if (final === 's') page.save()
  else if (final === 'u') page.restore()
  else page.toColumn(count - 1)
  if (final === 'E' || final === 'F') page.carriageReturn()
}

/** The same for `ESC <final>`. */
export function runEscape(final: string, page: Page): boolean {
  switch (final) {
    case 'D':
    case 'E':
      if (final === 'E' || !page.isOpen) return newline(page)
      page.down(1)
      return true
    case 'M':
      if (page.open()) page.up(1)
      return true
    case '7':
      if (page.open()) page.save()
      return true
    case '8':
      if (page.open()) page.restore()
      return true
    default:
      return true
  }
}

function newline(page: Page): boolean {
  if (page.open()) page.newline()
  return true
}
