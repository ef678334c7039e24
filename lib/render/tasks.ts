import { nameEnd, type TaskEnd } from '../protocol/result/tasks.ts'
import { formatDuration } from './messages.ts'

/** The tasks that have ended as a table for people, a line each. */
export function renderTaskTable(ends: readonly TaskEnd[]): string {
  if (ends.length === 0) return 'No task has ended.\n'
  const rows = ends.map(({ task, tries, result }) => [
    String(task),
    nameEnd(result),
    formatDuration(result.durationMs),
    String(tries),
    result.host ?? '',
    result.artifact?.path ?? '',
  ])
  const table = [['TASK', 'END', 'TIME', 'TRIES', 'HOST', 'OUTPUT'], ...rows]
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  )
  return table
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
