import type { IBufferCell, IBufferLine } from '@xterm/headless'

/** One look of some cells that stand side by side. */
interface Span {
  column: number
  text: string
  /** CSS of its text, and the colour behind it; null: that of the page. */
  style: string
  background: string | null
}

/** A line of the screen. */
export interface Row {
  text: string
  spans: Span[]
  /** Two rows of the same key look the same. */
  key: string
}

/** What the screen showed from a moment on. */
export interface Frame {
  atMs: number
  rows: Row[]
}

/** Reads a line of the screen with its colours; `cursor` is the column of the cursor, where it is in this line. */
export function readRow(line: IBufferLine | undefined, cursor: number | null): Row {
  const spans: Span[] = []
  for (let column = 0; column < (line?.length ?? 0); column++) {
    const cell = line?.getCell(column)
    if (cell === undefined || cell.getWidth() === 0) continue
    const look = lookOf(cell, column === cursor)
    const chars = cell.getChars() || ' '
    const last = spans.at(-1)
    if (last?.style === look.style && last.background === look.background) last.text += chars
    else spans.push({ column, text: chars, ...look })
  }
  const shown = spans.filter(({ text, background }) => text.trim() !== '' || background !== null)
  const text = spans.map((span) => span.text).join('')
  return { text, spans: shown, key: JSON.stringify(shown) }
}

function lookOf(cell: IBufferCell, isCursor: boolean): Pick<Span, 'style' | 'background'> {
  const foreground = cell.isFgDefault() ? null : colorOf(cell.getFgColor(), cell.isFgRGB())
  const background = cell.isBgDefault() ? null : colorOf(cell.getBgColor(), cell.isBgRGB())
  const inverse = Boolean(cell.isInverse()) !== isCursor
  const front = inverse ? (background ?? pageColor) : foreground
  const parts = [
    front === null ? '' : `fill:${front}`,
    cell.isBold() ? 'font-weight:bold' : '',
    cell.isDim() ? 'opacity:.6' : '',
    cell.isItalic() ? 'font-style:italic' : '',
    cell.isUnderline() ? 'text-decoration:underline' : '',
  ]
  return {
    style: parts.filter(Boolean).join(';'),
    background: inverse ? (foreground ?? textColor) : background,
  }
}

const pageColor = '#16181d'
const textColor = '#d7dae0'
/** The first sixteen colours of a terminal, which each terminal chooses for itself. */
const namedColors =
  '#3b4048 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #d7dae0 #5c6370 #e06c75 #98c379 #e5c07b #61afef #c678dd #56b6c2 #ffffff'.split(
    ' ',
  )

/** The 256 colours of xterm, and those that are given as they are. */
function colorOf(value: number, isRgb: boolean): string {
  if (isRgb) return toHex([value >> 16, (value >> 8) & 255, value & 255])
  const named = namedColors[value]
  if (named !== undefined) return named
  if (value >= 232) return toHex(Array.from({ length: 3 }, () => 8 + (value - 232) * 10))
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40)
  const cube = value - 16
  return toHex([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(level))
}

function toHex(parts: readonly number[]): string {
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

const cell = { width: 8.4, height: 18 }
const margin = 14

interface Drawing {
  columns: number
  rows: number
  endMs: number
}

/** For how long a row showed the same. */
interface Shown {
  row: number
  spans: Span[]
  fromMs: number
  toMs: number
}

/**
 * An SVG that plays the frames again and again. What looks the same for a while is drawn once, and is
 * visible from its first to its last moment; a viewer that does not animate shows the last frame.
 */
export function drawAnimation(frames: readonly Frame[], { columns, rows, endMs }: Drawing): string {
  const groups = new Map<string, Shown[]>()
  for (const shown of listShown(frames, rows, endMs)) {
    const key = `${shown.fromMs} ${shown.toMs}`
    const group = groups.get(key)
    if (group) group.push(shown)
    else groups.set(key, [shown])
  }
  const styles = new Map<string, string>()
  const drawn = [...groups.values()].map((group) => drawGroup(group, endMs, styles))
  const width = columns * cell.width + 2 * margin
  const height = rows * cell.height + 2 * margin
  const classes = [...styles].map(([style, name]) => `.${name}{${style}}`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${round(height)}" width="${round(width)}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" xml:space="preserve" fill="${textColor}" role="img" aria-label="The REPL of nacre">`,
    `<style>text{white-space:pre}${classes.join('')}</style>`,
    `<rect width="100%" height="100%" rx="8" fill="${pageColor}"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n')
}

/** The looks of each row, one after another. Frames that follow at once are seen as one. */
function* listShown(frames: readonly Frame[], rows: number, endMs: number): Generator<Shown> {
  const seen = frames.filter(
    ({ atMs }, index) => (frames[index + 1]?.atMs ?? Infinity) - atMs >= leastMs,
  )
  for (let row = 0; row < rows; row++) {
    let current = null as { key: string; spans: Span[]; fromMs: number } | null
    for (const [index, frame] of seen.entries()) {
      const { key = '', spans = [] } = frame.rows[row] ?? {}
      if (current?.key === key) continue
      const fromMs = index === 0 ? 0 : frame.atMs
      if (current && current.spans.length > 0) yield { row, ...current, toMs: fromMs }
      current = { key, spans, fromMs }
    }
    if (current && current.spans.length > 0) yield { row, ...current, toMs: endMs }
  }
}

/** Shorter than this nothing is seen. */
const leastMs = 30

function drawGroup(group: readonly Shown[], endMs: number, styles: Map<string, string>): string {
  const [{ fromMs, toMs } = { fromMs: 0, toMs: 0 }] = group
  const content = group.map((shown) => drawRow(shown, styles)).join('')
  if (fromMs === 0 && toMs === endMs) return `<g>${content}</g>`
  const share = (ms: number) => (ms / endMs).toFixed(4).replace(/^0/, '')
  const [values, times] =
    fromMs === 0
      ? ['visible;hidden', `0;${share(toMs)}`]
      : toMs === endMs
        ? ['hidden;visible', `0;${share(fromMs)}`]
        : ['hidden;visible;hidden', `0;${share(fromMs)};${share(toMs)}`]
  const hidden = toMs === endMs ? '' : ' visibility="hidden"'
  return (
    `<g${hidden}><animate attributeName="visibility" values="${values}" keyTimes="${times}" ` +
    `calcMode="discrete" dur="${round(endMs / 1000)}s" repeatCount="indefinite"/>${content}</g>`
  )
}

function drawRow({ row, spans }: Shown, styles: Map<string, string>): string {
  const y = margin + row * cell.height
  const behind = spans.flatMap(({ column, text, background }) => {
    if (background === null) return []
    const x = round(margin + column * cell.width)
    const width = round(text.length * cell.width)
    return `<rect x="${x}" y="${y}" width="${width}" height="${cell.height}" fill="${background}"/>`
  })
  const texts = spans.map(({ column, text, style }) => {
    const x = round(margin + column * cell.width)
    const name = style === '' ? '' : ` class="${classOf(style, styles)}"`
    const shown = text.trimEnd()
    return shown === '' ? '' : `<text x="${x}" y="${y + 13}"${name}>${escapeText(shown)}</text>`
  })
  return [...behind, ...texts].join('')
}

function classOf(style: string, styles: Map<string, string>): string {
  let name = styles.get(style)
  if (name === undefined) styles.set(style, (name = `s${styles.size}`))
  return name
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100)
}
