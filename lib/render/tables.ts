import type { JobEntry } from '../protocol/result/job.ts'
import { nameEnd, type TaskEnd } from '../protocol/result/tasks.ts'
import { formatDuration } from './messages.ts'

/** The jobs as a table for people: one line each, its command last and as long as the width allows. */
export function renderJobTable(jobs: readonly JobEntry[], columns: number): string {
  if (jobs.length === 0) return 'No jobs.\n'
  const rows = jobs.map((job) => [
    job.jobId,
    describeState(job),
    formatDuration(job.durationMs),
    job.pid === null ? '' : String(job.pid),
    toOneLine(job.command),
  ])
  return renderTable(['JOB', 'STATE', 'TIME', 'PID', 'COMMAND'], rows, columns)
}

/** `running`, `exit 3`, `SIGSEGV`, `timeout`, `lost`. */
function describeState(job: JobEntry): string {
  switch (job.status) {
    case 'running':
      return job.ownerAlive ? 'running' : 'running, unheld'
    case 'exited':
      return `exit ${job.exitCode}`
    case 'signaled':
      return job.signal ?? 'signal'
    case 'stopped':
      return job.error ? 'lost' : (job.reason ?? 'stopped')
    default:
      return job.status
  }
}

/** Without line breaks and without anything that a terminal would act on. */
export function toOneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, '; ').replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}

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

/** Rows of text under a head, in columns as wide as their widest cell; each line is cut at `width`. */
function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width = Infinity,
): string {
  const table = [head, ...rows]
  const widths = head.map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  )
  return table
    .map((row) => {
      const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
      return `${cells.join('  ').trimEnd().slice(0, width).trimEnd()}\n`
    })
    .join('')
}
