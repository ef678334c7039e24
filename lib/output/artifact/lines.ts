import type { Lines } from '../../protocol/artifacts.ts'
import { limits } from '../../protocol/limits.ts'
import { createScanner } from '../scan.ts'
import { Window } from '../window.ts'
import { readClean } from './read.ts'

const newline = 0x0a

/**
 * The lines after the first `offset` ones, at most `limit` of them and within the limits of an output; a
 * line that is too long is cut. At least one line is read, so that calls in a row reach the end.
 */
export async function readLines(path: string, offset: number, limit: number): Promise<Lines> {
  const scan = createScanner()
  const { maxLines, maxBytes } = limits
  const window = new Window({ head: limit, tail: null, maxLines, maxBytes, truncate: 'tail' }, scan)
  let toSkip = offset
  let skipped = 0
  let endsOpen = false
  await readClean(path, (text) => {
    let at = 0
    endsOpen = text.at(-1) !== newline
    if (toSkip > 0) {
      const { newlines } = scan(text, 0, text.length)
      const passed = Math.min(newlines, toSkip)
      skipped += passed
      toSkip -= passed
      if (toSkip > 0) return true
      for (let line = 0; line < passed; line++) at = text.indexOf(newline, at) + 1
    }
    window.write(text.subarray(at))
    return !window.isOver
  })
  const { text, truncation } = window.render()
  const shown = truncation?.shownRanges[0]?.[1] ?? window.totalLines
  const isPast = window.totalLines === 0 && endsOpen
  return {
    text,
    from: shown === 0 ? 0 : offset + 1,
    to: shown === 0 ? 0 : offset + shown,
    nextOffset: window.isOver ? offset + shown : null,
    totalLines: window.isOver ? null : skipped + window.totalLines + (isPast ? 1 : 0),
  }
}

/** The last `count` lines, within the limits of an output. */
export async function readLastLines(path: string, count: number): Promise<Lines> {
  const { maxLines, maxBytes } = limits
  const window = new Window({ head: null, tail: count, maxLines, maxBytes, truncate: 'tail' })
  await readClean(path, (text) => {
    window.write(text)
    return true
  })
  const { text, truncation } = window.render()
  const { totalLines } = window
  const [from, to] = truncation?.shownRanges[0] ?? [Math.min(1, totalLines), totalLines]
  return { text, from, to, nextOffset: null, totalLines }
}
