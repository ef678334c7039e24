import type { JobEntry } from '../protocol/result/job.ts'
import { formatDuration } from './messages.ts'
import { renderTable } from './table.ts'

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
function toOneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, '; ').replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}
