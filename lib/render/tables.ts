import type { JobEntry } from '../protocol/result/reading.ts'
import { nameEnd, type TaskEnd } from '../protocol/array.ts'
import { formatDuration } from './messages.ts'
import type { Decision, Verdict } from '../protocol/rules.ts'

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
  if (job.status === 'running') return job.ownerAlive ? 'running' : 'running, unheld'
  return nameEnd(job)
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

const meaning: Readonly<Record<Decision, string>> = {
  allow: 'The command may run.',
  ask: 'It runs only if somebody who can be asked says so.',
  redirect: 'It does not run; a tool of the caller does it better.',
  deny: 'It does not run.',
}

/** A verdict as people read it: what, why, and what it means. */
export function renderVerdict(verdict: Verdict): string {
  const { decision, rule, reason, matched, suggestedTool } = verdict
  const rows: [string, string | null][] = [
    [decision, meaning[decision]],
    ['rule', rule],
    ['matched', matched],
    // The rule has a row of its own.
    ['reason', reason?.replace(`${rule ?? ''}: `, '') ?? null],
    ['instead', suggestedTool === null ? null : `the tool \`${suggestedTool}\``],
  ]
  return rows
    .flatMap(([name, text]) =>
      text === null ? [] : [`${name.padEnd(9)}${text.replaceAll('\n', '\n         ')}\n`],
    )
    .join('')
}
