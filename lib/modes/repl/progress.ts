import { nowMs } from '../../system/clock.ts'
import type { Result } from '../../protocol/result.ts'
import { formatDuration } from '../../render/messages.ts'
import { outputLines, previewLines } from './block.ts'
import { countOf, expandTabs, fit, formatBytes } from './columns.ts'
import { isKey } from './keyboard.ts'
import type { Style } from './style.ts'
import type { View } from './view.ts'

export interface ProgressOptions {
  style: Style
  /** How the run stands; null before it has started. */
  look: () => Result | null
  onStop: () => void
  onBackground: () => void
  /** A key that is for the prompt. */
  onOther: (data: string) => void
}

export interface Progress extends View {
  stopping: boolean
}

/** A run in the foreground: its last lines as they come, then elapsed time, lines and bytes. */
export function createProgress(options: ProgressOptions): Progress {
  const { style } = options
  const startedMs = nowMs()
  const view: Progress = {
    stopping: false,
    render(columns, rows) {
      const result = options.look()
      const lines = result ? outputLines(result) : []
      const height = Math.max(1, Math.min(previewLines, rows - 2))
      const tail = lines.slice(-height).map((line) => fit(expandTabs(line), columns - 1))
      const elapsedMs = nowMs() - startedMs
      const parts = [
        view.stopping ? 'stopping' : 'running',
        formatDuration(Math.floor(elapsedMs / 100) * 100),
        countOf(result?.truncation?.totalLines ?? lines.length, 'line'),
        formatBytes(result?.truncation?.totalBytes ?? Buffer.byteLength(lines.join('\n'))),
      ]
      const told = `${parts.join(' · ')} · Esc stops · Ctrl-B background`
      return { lines: [...tail, style.dim(fit(told, columns - 1))], cursor: null }
    },
    key(data) {
      if (isKey(data, 'escape', 'ctrl+c')) {
        view.stopping = true
        options.onStop()
      } else if (isKey(data, 'ctrl+b')) options.onBackground()
      else options.onOther(data)
    },
  }
  return view
}
