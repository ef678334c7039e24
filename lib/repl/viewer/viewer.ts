import { messageOf } from '../../protocol/errors.ts'
import { usualSize } from '../../protocol/limits.ts'
import type { View } from '../screen/display.ts'
import { isKey, typeAtEnd } from '../screen/terminal.ts'
import { countOf, expandTabs, fit, type Style, widthOf, wrap } from '../screen/text.ts'
import type { TextSource } from './text-source.ts'

export interface ViewerOptions {
  title: string
  source: TextSource
  style: Style
  /** Goes on to what comes, from the start. */
  follows: boolean
  refresh: () => void
  onClose: () => void
  /** Closes once a command can read all of the text; an empty one is the pager. Rejects with a sentence. */
  handOver: (command: string, signal: AbortSignal) => Promise<void>
  /** Puts a text on the clipboard of the person's terminal. */
  copy: (text: string) => void
  /** Writes all of the text into a file. Gives the sentence that reports it, and rejects with one. */
  save: (name: string, signal: AbortSignal) => Promise<string>
}

const helpLines = [
  'q Esc leave · g G start, end · :n goes to line n · Space b pages · d u half',
  '/ ? search on, back · n N next, other way · F follows · ← → sideways',
  'y copies what is seen · s saves · | hands over to a command, or to $PAGER',
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
/** Behind so many columns lines are read from there on: a reading gives only so much of each. */
const farColumns = 10_000
const followMs = 200
/** What has taken so long says how it is stopped. */
const longMs = 150
const toldWhenLong = 'Ctrl-C stops'

/** A pager over the whole screen, with the keys of less(1). It opens at the end. */
export function createViewer(options: ViewerOptions): View {
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
  let { follows } = options
  let following: NodeJS.Timeout | undefined
  let busy: AbortController | null = null
  /** One movement after another, in the order of the keys. */
  let work = Promise.resolve()

  function queue(step: (signal: AbortSignal) => Promise<void>): void {
    work = work.then(async () => {
      busy = new AbortController()
      const { signal } = busy
      const telling = setTimeout(() => {
        message = toldWhenLong
        refresh()
      }, longMs)
      try {
        await step(signal)
        if (message === toldWhenLong) message = ''
      } catch (error) {
        message = signal.aborted ? 'stopped' : messageOf(error)
      }
      clearTimeout(telling)
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

  function goSideways(columns: number): void {
    left = Math.max(0, left + columns)
    if (Math.max(left, first) > farColumns) queue(() => goTo(top))
  }

  async function goToEnd(signal: AbortSignal): Promise<void> {
    total = await source.countLines(signal)
    await goTo(total - height)
  }

  /** To the next match, so many lines behind the first that is seen or later, or before it. */
  function searchOn(back: boolean, lines: number): void {
    queue(async (signal) => {
      if (!pattern) return
      const found = await source.find(pattern, top + (back ? -lines : lines), back, signal)
      message = found === null ? `not found: ${pattern.source}` : ''
      if (found === null) return
      const isSeen = found.column >= left && found.column < left + width
      if (!isSeen) left = Math.max(0, found.column - Math.floor(width / 3))
      await goTo(found.line)
    })
  }

  function answer({ kind, text }: Query): void {
    const wanted = text.trim()
    switch (kind) {
      case '|':
        return queue((signal) => options.handOver(wanted, signal))
      case 's':
        if (wanted !== '')
          queue(async (signal) => void (message = await options.save(wanted, signal)))
        return
      case ':': {
        const line = Number(wanted)
        if (Number.isInteger(line) && line > 0) queue(() => goTo(line - 1))
        else message = `not a line: ${text}`
        return
      }
      default:
        backwards = kind === '?'
        if (text !== '') pattern = compilePattern(text)
        searchOn(backwards, backwards ? 1 : 0)
    }
  }

  function keyOfQuery(data: string, asked: Query): void {
    if (isKey(data, 'escape', 'ctrl+c') || (isKey(data, 'backspace') && asked.text === ''))
      query = null
    else if (isKey(data, 'enter')) {
      query = null
      answer(asked)
    } else query = { ...asked, text: typeAtEnd(asked.text, data) }
  }

  const scroll = (by: () => number) => () => queue(() => goTo(top + by()))
  const moves: Record<string, () => void> = {
    n: () => searchOn(backwards, 1),
    N: () => searchOn(!backwards, 1),
    g: () => queue(() => goTo(0)),
    G: () => queue(goToEnd),
    j: scroll(() => 1),
    k: scroll(() => -1),
    d: scroll(() => Math.ceil(height / 2)),
    u: scroll(() => -Math.ceil(height / 2)),
    f: scroll(() => height),
    ' ': scroll(() => height),
    b: scroll(() => -height),
    F: follow,
    '>': () => goSideways(20),
    '<': () => goSideways(-20),
    h: () => void (showsHelp = true),
    y() {
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
    right: '>',
    left: '<',
  } as const

  function follow(): void {
    follows = true
    queue(goToEnd)
    clearInterval(following)
    following = setInterval(() => {
      if (!follows) return clearInterval(following)
      if (!busy) queue(goToEnd)
      if (!source.grows) follows = false
    }, followMs).unref()
  }

  function status(columns: number): string {
    if (query !== null) {
      // Of what is typed the end is seen.
      let shown = questions[query.kind].mark + query.text
      while (widthOf(shown) > columns - 1) shown = shown.slice(1)
      return shown
    }
    if (message !== '') return style.inverse(fit(` ${message}`.padEnd(columns), columns))
    const from = lines.length === 0 ? 0 : top + 1
    const of = total === null ? '' : ` of ${total.toLocaleString('en-US')}`
    const place = `${from}–${top + lines.length}${of}`
    const fitting = hints.find((hint) => widthOf(place + hint) < columns - leastTitle)
    const right = `${place}${follows ? ' · follows' : (fitting ?? '')} `
    const title = fit(` ${options.title}`, Math.max(1, columns - widthOf(right) - 2))
    const gap = Math.max(1, columns - widthOf(title) - widthOf(right))
    return style.inverse(fit(title + ' '.repeat(gap) + right, columns))
  }

  if (follows) follow()
  else queue(goToEnd)

  return {
    wholeScreen: { isRaw: false },
    key(data) {
      if (query !== null) return keyOfQuery(data, query)
      if (busy && isKey(data, 'ctrl+c', 'escape')) return busy.abort()
      message = ''
      if (showsHelp) return void (showsHelp = false)
      if (data !== 'F') follows = false
      if (data === 'q' || isKey(data, 'escape', 'ctrl+c')) {
        clearInterval(following)
        busy?.abort()
        return options.onClose()
      }
      const other = Object.entries(named).find(([name]) => isKey(data, name as keyof typeof named))
      const move = moves[other?.[1] ?? data]
      if (move) return move()
      const kind = (Object.keys(questions) as Kind[]).find((known) => known === data)
      if (kind) query = { kind, text: questions[kind].text }
      else if (/^[1-9]$/.test(data)) query = { kind: ':', text: data }
    },
    render(columns, rows) {
      width = columns
      if (height !== Math.max(1, rows - 1)) {
        height = Math.max(1, rows - 1)
        if (total !== null) queue(() => goTo(top))
      }
      const help = helpLines.flatMap((line) => wrap(line, columns))
      const shown = Array.from({ length: height }, (_, row) => {
        const line = showsHelp ? (help[row] ?? '') : lines[row]
        if (line === undefined) return style.dim('~')
        const seen = fit(expandTabs(line).slice(Math.max(0, left - first)), columns)
        return markMatches(seen, pattern, style)
      })
      const end = status(columns)
      const cursor = query === null ? null : { row: rows - 1, column: widthOf(end) }
      return { lines: [...shown, end], cursor }
    },
  }
}

/** A line in which all that matches stands out. */
function markMatches(line: string, pattern: RegExp | null, style: Style): string {
  if (!pattern) return line
  const all = new RegExp(pattern, `g${pattern.flags}`)
  return line.replace(all, (found) => (found === '' ? '' : style.inverse(found)))
}

/** As a regular expression; what is none is looked for as it is. Capitals in it count, as in less -i. */
function compilePattern(text: string): RegExp {
  const flags = /\p{Lu}/u.test(text) ? 'u' : 'iu'
  try {
    return new RegExp(text, flags)
  } catch {
    return new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'), flags)
  }
}
