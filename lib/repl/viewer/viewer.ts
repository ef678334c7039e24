import { nowMs } from '../../system/clock.ts'
import { messageOf } from '../../protocol/errors.ts'
import { usualSize } from '../../protocol/limits.ts'
import { countOf, expandTabs, fit, lastColumns, spread, widthOf, wrap } from '../screen/columns.ts'
import { createKeyboard, isKey, typedText } from '../screen/keyboard.ts'
import { markMatches, type Style } from '../screen/style.ts'
import { compilePattern, type Search, type TextSource } from './text-source.ts'
import type { FullScreen } from '../screen/view.ts'

export interface ViewerOptions {
  title: string
  source: TextSource
  style: Style
  /** Goes on to what comes, from the start. */
  follows: boolean
  refresh: () => void
  onClose: () => void
  /** Closes once a command can read all of the text; an empty one is the pager. Rejects with a sentence. */
  handOver: (command: string, search: Search) => Promise<void>
  /** Takes a key that was typed for what follows the viewer. */
  onAhead: (data: string) => void
  /** Puts a text on the clipboard of the person's terminal. */
  copy: (text: string) => void
  /** Writes all of the text into a file. Gives the sentence that tells of it, and rejects with one. */
  save: (name: string, search: Search) => Promise<string>
}

const helpLines = [
  'q Esc leave · g G start, end · :n goes to line n · Space b pages · d u half',
  '/ ? search on, back · n N next, other way · F follows · ← → sideways',
  'y copies what is seen · s saves · | hands over to a command, or to $PAGER · wheel scrolls',
]
/** What stands beside the place, the longest that fits. */
const hints = [' · q / ? n N g G F | s y h', ' · q / ? g G h', ' · h helps', '']

/** What is asked for in the last line: its mark, and what stands there at first. */
const questions = {
  '/': { mark: '/', text: '' },
  '?': { mark: '?', text: '' },
  ':': { mark: ':', text: '' },
  '|': { mark: '| ', text: '' },
  s: { mark: 'save as: ', text: 'nacre-output.txt' },
} as const
type Kind = keyof typeof questions
interface Query {
  kind: Kind
  text: string
}
/** Columns that what is shown has beside the place. */
const leastTitle = 14
const wheelLines = 3
/** Behind so many columns lines are read from there on: a reading gives only so much of each. */
const farColumns = 10_000
const followMs = 200
/** What has taken so long tells how far it is. */
const progressMs = 150
/** Mouse buttons and their wheel, told in decimal (xterm modes 1000 and 1006). */
const mouse = { on: '\u001B[?1000h\u001B[?1006h', off: '\u001B[?1006l\u001B[?1000l' }
const mouseReport = /^\u001B\[<(\d+);\d+;\d+[Mm]$/

/** A pager over the whole screen, with the keys of less(1). It opens at the end. */
export function createViewer(options: ViewerOptions): FullScreen {
  const { source, style, refresh } = options
  let top = 0
  let left = 0
  /** The column from which the lines were read. */
  let first = 0
  let width: number = usualSize.columns
  let height = 1
  let lines: string[] = []
  let total: number | null = null
  let pattern: RegExp | null = null
  let backwards = false
  let query: Query | null = null
  let message = ''
  let showsHelp = false
  let follows = options.follows
  let following: NodeJS.Timeout | undefined
  let busy: AbortController | null = null
  /** Keys that were typed for what follows the viewer, which is about to hand over. */
  let ahead: string[] | null = null
  /** One movement after another, in the order of the keys. */
  let work = Promise.resolve()
  let isOpen = false

  function queue(step: (search: Search) => Promise<void>): void {
    work = work.then(async () => {
      busy = new AbortController()
      const since = nowMs()
      const onProgress = (done: number) => {
        if (nowMs() - since < progressMs) return
        message = `${Math.round(done * 100)} % · Ctrl-C stops`
        refresh()
      }
      const { signal } = busy
      try {
        await step({ signal, onProgress })
        if (message.includes('Ctrl-C')) message = ''
      } catch (error) {
        message = signal.aborted ? 'stopped' : messageOf(error)
      }
      busy = null
      refresh()
    })
  }

  async function goTo(line: number): Promise<void> {
    const last = total === null ? line : Math.max(0, total - height)
    top = Math.max(0, Math.min(line, last))
    const column = left > farColumns ? left : 0
    lines = await source.read(top, height, column)
    first = column
  }

  const isOnScreen = (column: number) => column >= left && column < left + width

  function goSideways(columns: number): void {
    left = Math.max(0, left + columns)
    if (Math.max(left, first) > farColumns) queue(() => goTo(top))
  }

  async function goToEnd(search: Search): Promise<void> {
    total = await source.countLines(search)
    await goTo(total - height)
  }

  async function searchOn(search: Search, from: number, back: boolean): Promise<void> {
    if (!pattern) return
    const found = await source.find(pattern, from, back, search)
    message = found === null ? `not found: ${pattern.source}` : ''
    if (found === null) return
    left = isOnScreen(found.column) ? left : Math.max(0, found.column - Math.floor(width / 3))
    await goTo(found.line)
  }

  function answer({ kind, text }: Query): void {
    if (kind === '|') {
      ahead = []
      return queue((search) => options.handOver(text.trim(), search).finally(takeAhead))
    }
    if (kind === 's') {
      if (text.trim() === '') return
      return queue(async (search) => void (message = await options.save(text.trim(), search)))
    }
    if (kind === ':') {
      const line = Number(text)
      if (Number.isInteger(line) && line > 0) queue(() => goTo(line - 1))
      else message = `not a line: ${text}`
      return
    }
    backwards = kind === '?'
    if (text !== '') pattern = compilePattern(text)
    queue((search) => searchOn(search, backwards ? top - 1 : top, backwards))
  }

  /** What was typed ahead is for the viewer where it stays. */
  function takeAhead(): void {
    const typed = ahead ?? []
    ahead = null
    for (const data of typed) take(data)
  }

  function keyOfQuery(data: string, asked: Query): void {
    if (isKey(data, 'escape', 'ctrl+c')) query = null
    else if (isKey(data, 'ctrl+u')) query = { ...asked, text: '' }
    else if (isKey(data, 'backspace')) {
      query = asked.text === '' ? null : { ...asked, text: [...asked.text].slice(0, -1).join('') }
    } else if (isKey(data, 'enter')) {
      query = null
      answer(asked)
    } else {
      const typed = (typedText(data) ?? '').replaceAll(/\p{Cc}/gu, '')
      query = { ...asked, text: asked.text + typed }
    }
  }

  const moves: Record<string, () => void> = {
    n: () => queue((search) => searchOn(search, backwards ? top - 1 : top + 1, backwards)),
    N: () => queue((search) => searchOn(search, backwards ? top + 1 : top - 1, !backwards)),
    g: () => queue(() => goTo(0)),
    G: () => queue(goToEnd),
    j: () => queue(() => goTo(top + 1)),
    k: () => queue(() => goTo(top - 1)),
    d: () => queue(() => goTo(top + Math.ceil(height / 2))),
    u: () => queue(() => goTo(top - Math.ceil(height / 2))),
    ' ': () => queue(() => goTo(top + height)),
    f: () => queue(() => goTo(top + height)),
    b: () => queue(() => goTo(top - height)),
    F: () => follow(),
    h: () => void (showsHelp = true),
    y: () => {
      options.copy(lines.join('\n'))
      message = `copied ${countOf(lines.length, 'line')}`
    },
  }
  const named = {
    home: 'g',
    end: 'G',
    down: 'j',
    enter: 'j',
    up: 'k',
    pageDown: 'f',
    pageUp: 'b',
  } as const

  function key(data: string): void {
    const button = mouseReport.exec(data)?.[1]
    if (button !== undefined) {
      if (button === '64') queue(() => goTo(top - wheelLines))
      if (button === '65') queue(() => goTo(top + wheelLines))
      return
    }
    if (query !== null) return keyOfQuery(data, query)
    if (busy && isKey(data, 'ctrl+c', 'escape')) return busy.abort()
    if (ahead) return void ahead.push(data)
    message = ''
    if (showsHelp) return void (showsHelp = false)
    if (data !== 'F') follows = false
    if (data === 'q' || isKey(data, 'escape', 'ctrl+c')) return options.onClose()
    const other = Object.entries(named).find(([name]) => isKey(data, name as keyof typeof named))
    const move = moves[other?.[1] ?? data]
    if (move) return move()
    const kind = (Object.keys(questions) as Kind[]).find((known) => known === data)
    if (kind) query = { kind, text: questions[kind].text }
    else if (/^[1-9]$/.test(data)) query = { kind: ':', text: data }
    else if (isKey(data, 'right')) goSideways(20)
    else if (isKey(data, 'left')) goSideways(-20)
  }

  function follow(): void {
    follows = true
    queue(goToEnd)
    clearInterval(following)
    const timer = setInterval(() => {
      if (!isOpen || !follows) return clearInterval(timer)
      if (!busy) queue(goToEnd)
      if (!source.grows) follows = false
    }, followMs)
    following = timer.unref()
  }

  function status(columns: number): string {
    if (query !== null) return lastColumns(questions[query.kind].mark + query.text, columns - 1)
    if (message !== '') return style.inverse(fit(` ${message}`.padEnd(columns), columns))
    const from = lines.length === 0 ? 0 : top + 1
    const of = total === null ? '' : ` of ${total.toLocaleString('en-US')}`
    const place = `${from}–${top + lines.length}${of}`
    const fitting = hints.find((hint) => widthOf(place + hint) < columns - leastTitle)
    const told = place + (follows ? ' · follows' : (fitting ?? ''))
    const title = fit(options.title, Math.max(0, columns - widthOf(told) - 4))
    return style.inverse(spread(` ${title}`, `${told} `, columns))
  }

  const take = (data: string) => (isOpen ? key(data) : options.onAhead(data))
  const keyboard = createKeyboard(take, () => undefined)
  return {
    enter() {
      isOpen = true
      if (follows) follow()
      else queue(goToEnd)
      return mouse.on
    },
    leave() {
      isOpen = false
      takeAhead()
      busy?.abort()
      keyboard.close()
      return mouse.off
    },
    input: (data) => keyboard.take(data),
    draw(columns, rows, afresh) {
      width = columns
      if (afresh && height !== Math.max(1, rows - 1)) {
        height = Math.max(1, rows - 1)
        queue(total === null ? async () => undefined : () => goTo(top))
      }
      const help = helpLines.flatMap((line) => wrap(line, columns))
      let text = ''
      for (let row = 0; row < height; row++) {
        const line = showsHelp ? (help[row] ?? '') : lines[row]
        const shown =
          line === undefined
            ? style.dim('~')
            : markMatches(cut(line, Math.max(0, left - first), columns), pattern, style)
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
