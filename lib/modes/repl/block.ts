import type { Result } from '../../protocol/result.ts'
import { describeTrouble, formatDuration } from '../../render/messages.ts'
import { countOf, formatBytes } from './columns.ts'
import type { Style } from './style.ts'

/** Lines of output that stay on the screen. */
export const previewLines = 20

/** A finished run, below its headline: the last lines, what is missing and where it is, how it ended. */
export function renderBlock(result: Result, style: Style, shown?: readonly string[]): string[] {
  const lines = shown ?? outputLines(result)
  const total = shown ? lines.length : (result.truncation?.totalLines ?? lines.length)
  const preview = lines.slice(-previewLines)
  const hidden = total - preview.length
  const more = hidden > 0 ? [style.dim(`… ${countOf(hidden, 'earlier line')} · v shows all`)] : []
  const { artifact } = result
  const kept = artifact
    ? [
        style.dim(
          `${artifact.uri} · ${formatBytes(artifact.bytes)}` +
            (artifact.complete ? '' : ' · not complete'),
        ),
      ]
    : []
  const notices = result.status === 'stopped' ? [] : result.notices
  return [
    ...more,
    ...preview,
    ...describeTrouble(result).map(style.yellow),
    ...notices.map(style.yellow),
    ...kept,
    renderEnd(result, style),
  ]
}

/** `✓ exit 0 · 234 ms` */
export function renderEnd(result: Result, style: Style): string {
  const meaning = result.exitMeaning === null ? '' : ` (${result.exitMeaning})`
  const after = ` · ${formatDuration(result.durationMs)}`
  switch (result.status) {
    case 'exited': {
      const text = `exit ${result.exitCode}${meaning}`
      return result.exitCode === 0
        ? style.green(`✓ ${text}`) + after
        : style.red(`✗ ${text}`) + after
    }
    case 'signaled':
      return style.red(`✗ ${result.signal}`) + after
    case 'stopped':
      return style.red('✗ stopped') + after
    case 'running':
      return style.yellow(`… running as ${result.id}`)
    default:
      return style.red(result.status === 'denied' ? '✗ denied' : '✗ not started')
  }
}

export function outputLines(result: Result): string[] {
  const text = result.output ?? `${result.stdout ?? ''}${result.stderr ?? ''}`
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}
