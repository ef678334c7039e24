import { nameEnd, type TaskEnd } from '../protocol/result/tasks.ts'
import { formatDuration } from './messages.ts'
import { renderTable } from './table.ts'

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
  return renderTable(['TASK', 'END', 'TIME', 'TRIES', 'HOST', 'OUTPUT'], rows)
}
