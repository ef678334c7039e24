import type { InputKind } from '../../protocol/result/result.ts'
import { nowMs } from '../../system/clock.ts'
import { formatDuration } from '../../render/messages.ts'
import { fit, joinFitting, widthOf } from '../screen/columns.ts'
import type { Emulator } from '../screen/emulator.ts'
import { isKey, typedText } from '../screen/keyboard.ts'
import type { Style } from '../screen/style.ts'
import type { View } from '../screen/view.ts'

export interface ForegroundOptions {
  style: Style
  emulator: Emulator
  /** When it started, as nowMs() tells it. */
  startedMs: number
  /** Whether its program reads keys now, or has before. */
  isListening: () => boolean
  /** What it has been seen to wait for last: a line, a secret, or single keys. */
  waitsFor: () => InputKind | null
  hasBegun: () => boolean
  /** It went on in the background before, and the person came back to look. */
  isVisited: boolean
  onInput: (data: string) => void
  onInterrupt: () => void
  onBackground: () => void
  /** Takes a key that is for the prompt. */
  onAhead: (data: string) => void
}

export interface Foreground extends View {
  /** Looks whether what was typed ahead can go to the program. */
  tick(): void
  /** What nobody has read is for the prompt. */
  close(): void
}

/** Its headline stays in sight above it, and at its end it takes as many rows as before. */
const otherRows = 5

/**
 * A command that runs: the end of its output in its colours, and below how long it has run. Keys go to
 * its program where that reads any; else they wait, visibly, for the program or the next prompt.
 */
export function createForeground(options: ForegroundOptions): Foreground {
  const { style, emulator } = options
  let interrupted = false
  let ahead: string[] = []

  function flush(): void {
    if (ahead.length === 0 || !options.isListening()) return
    for (const key of ahead.splice(0)) options.onInput(key)
  }

  function describe(columns: number): string {
    const elapsedMs = Math.floor((nowMs() - options.startedMs) / 100) * 100
    const parts = [
      options.hasBegun() ? 'running' : 'your shell is starting',
      formatDuration(elapsedMs),
    ]
    const kind = options.waitsFor()
    const asksSecret = kind === 'password'
    const leave = options.isVisited ? 'Ctrl-] leaves' : 'Ctrl-B background'
    if (asksSecret) parts.push('a secret is not shown')
    else if (interrupted && options.hasBegun())
      parts.push(
        `interrupted · ${options.isVisited ? 'Ctrl-], /kill %n' : 'Ctrl-B, /kill'} ends it`,
      )
    // Below the cursor a line is to be short: some terminals lose the cursor where one is wrapped anew.
    else if (kind === null) parts.push('Ctrl-C stops', leave)
    else parts.push(leave)
    const typed = ahead.map((key) => (isKey(key, 'enter') ? '⏎' : (typedText(key) ?? ''))).join('')
    if (typed === '' || asksSecret) return style.dim(joinFitting(parts, columns - 1))
    const told = joinFitting(parts, Math.max(columns >> 1, columns - widthOf(typed) - 3))
    return fit(`${style.dim(told)}  ${typed}`, columns - 1)
  }

  /** Esc is for the program where that reads keys. */
  function leavesVisit(data: string): boolean {
    return isKey(data, 'ctrl+]') || (isKey(data, 'escape') && !options.isListening())
  }

  return {
    tick: flush,
    render(columns, rows) {
      const { lines, cursor } = emulator.tail(Math.max(3, rows - otherRows))
      const reads = options.waitsFor() !== null
      // Whoever types on a line sees it, also while it is empty.
      if (reads && cursor?.row === lines.length) lines.push('')
      return { lines: [...lines, describe(columns)], cursor: reads ? cursor : null }
    },
    key(data) {
      if (isKey(data, 'ctrl+c')) {
        interrupted = true
        ahead = []
        return options.onInterrupt()
      }
      if (isKey(data, 'ctrl+b') || (options.isVisited && leavesVisit(data))) {
        for (const key of ahead.splice(0)) options.onAhead(key)
        return options.onBackground()
      }
      if (isKey(data, 'ctrl+z')) return options.onInput('\u001A')
      if (data === '\u001C') return options.onInput(data)
      if (options.isListening()) {
        for (const key of ahead.splice(0)) options.onInput(key)
        return options.onInput(data)
      }
      if (isKey(data, 'escape')) {
        interrupted = true
        return options.onInterrupt()
      }
      if (isKey(data, 'backspace')) ahead.pop()
      else ahead.push(data)
    },
    close() {
      for (const key of ahead.splice(0)) options.onAhead(key)
    },
  }
}
