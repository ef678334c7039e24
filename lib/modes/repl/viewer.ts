import { messageOf } from '../../protocol/errors.ts'
import { expandTabs, fit, spread, widthOf } from './columns.ts'
import { createKeyboard, isKey, typedText } from './keyboard.ts'
import type { Pages } from './pages.ts'
import type { Style } from './style.ts'
import type { FullScreen } from './view.ts'

export interface ViewerOptions {
  title: string
  pages: Pages
  style: Style
  refresh: () => void
  onClose: () => void
}

const help = 'q leaves · / searches · n N · g G'

/** A pager over the whole screen, with the keys of less(1). */
export function createViewer({ title, pages, style, refresh, onClose }: ViewerOptions): FullScreen {
  let top = 0
  let left = 0
  let height = 1
  let lines: string[] = []
  let pattern: RegExp | null = null
  let query: string | null = null
  let message = ''
  /** One movement after another, in the order of the keys. */
  let work = Promise.resolve()

  function queue(step: () => Promise<void>): void {
    work = work
      .then(step)
      .catch((error: unknown) => void (message = messageOf(error)))
      .then(refresh)
  }

  async function goTo(line: number): Promise<void> {
    const wanted = Math.max(0, line)
    const read = await pages.read(wanted, height)
    const last = pages.total
    if (last !== null && wanted > 0 && wanted + height > last) {
      top = Math.max(0, last - height)
      lines = await pages.read(top, height)
    } else {
      top = wanted
      lines = read
    }
  }

  async function goToEnd(): Promise<void> {
    let line = top
    while (pages.total === null) {
      line += 1000
      await pages.read(line, 1)
    }
    await goTo(pages.total)
  }

  async function search(from: number, direction: 1 | -1): Promise<void> {
    if (!pattern) return
    const found = await pages.find(pattern, from, direction)
    message = found === null ? `not found: ${pattern.source}` : ''
    if (found !== null) await goTo(found)
  }

  function keyOfQuery(data: string, typed: string): void {
    if (isKey(data, 'escape', 'ctrl+c')) query = null
    else if (isKey(data, 'backspace')) query = [...typed].slice(0, -1).join('')
    else if (isKey(data, 'enter')) {
      query = null
      const wanted = typed === '' ? pattern : compile(typed)
      pattern = wanted
      queue(() => search(top, 1))
    } else query = typed + (typedText(data) ?? '')
  }

  function key(data: string): void {
    if (query !== null) return keyOfQuery(data, query)
    message = ''
    if (data === 'q' || isKey(data, 'escape', 'ctrl+c')) return onClose()
    if (data === '/') query = ''
    else if (data === 'n') queue(() => search(top + 1, 1))
    else if (data === 'N') queue(() => search(top - 1, -1))
    else if (data === 'g' || isKey(data, 'home')) queue(() => goTo(0))
    else if (data === 'G' || isKey(data, 'end')) queue(goToEnd)
    else if (data === 'j' || isKey(data, 'down', 'enter')) queue(() => goTo(top + 1))
    else if (data === 'k' || isKey(data, 'up')) queue(() => goTo(top - 1))
    else if (data === ' ' || data === 'f' || isKey(data, 'pageDown'))
      queue(() => goTo(top + height))
    else if (data === 'b' || isKey(data, 'pageUp')) queue(() => goTo(top - height))
    else if (isKey(data, 'right')) left += 20
    else if (isKey(data, 'left')) left = Math.max(0, left - 20)
  }

  function status(columns: number): string {
    if (query !== null) return fit(`/${query}`, columns - 1)
    const from = lines.length === 0 ? 0 : top + 1
    const place = `${from}–${top + lines.length} of ${pages.total ?? 'more'}`
    return style.inverse(
      spread(` ${message || fit(title, columns - 30)} `, `${place} · ${help} `, columns),
    )
  }

  const keyboard = createKeyboard(key, () => undefined)
  return {
    enter: () => '',
    leave() {
      keyboard.close()
      return ''
    },
    input: (data) => keyboard.take(data),
    draw(columns, rows, afresh) {
      if (afresh) {
        height = Math.max(1, rows - 1)
        queue(() => goTo(top))
      }
      let text = ''
      for (let row = 0; row < height; row++) {
        const line = lines[row]
        const shown =
          line === undefined ? style.dim('~') : mark(cut(line, left, columns), pattern, style)
        text += `\u001B[${row + 1};1H\u001B[2K${shown}\u001B[0m`
      }
      const end = status(columns)
      const cursor = query === null ? '' : `\u001B[${rows};${widthOf(end) + 1}H\u001B[?25h`
      return `\u001B[?2026h\u001B[?25l${text}\u001B[${rows};1H\u001B[2K${end}${cursor}\u001B[?2026l`
    },
  }
}

function cut(line: string, left: number, columns: number): string {
  return fit(expandTabs(line).slice(left), columns)
}

function mark(line: string, pattern: RegExp | null, style: Style): string {
  return pattern ? line.replace(new RegExp(pattern, 'giu'), (found) => style.inverse(found)) : line
}

/** As a regular expression; what is none is looked for as it is. Capitals in it count, as in less -i. */
function compile(text: string): RegExp {
  const flags = /\p{Lu}/u.test(text) ? 'u' : 'iu'
  try {
    return new RegExp(text, flags)
  } catch {
    return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), flags)
  }
}
