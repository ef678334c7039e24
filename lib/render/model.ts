import type { JobEntry, JobOutput } from '../protocol/result/reading.ts'
import type { ArtifactRef, Result, Truncation } from '../protocol/result/result.ts'
import { describeTrouble, formatDuration } from './messages.ts'

/** A result as a model reads it: the output, what was cut and where it is, how the command ended. */
export function renderForModel(result: Result): string {
  if (result.status === 'running') return renderRunning(result, null)
  const notes = [...describeCuts(result), ...result.notices]
  return joinParts([renderOutput(result), ...notes, describeEnd(result)])
}

/** Whether nothing ran, or what ran did not come to its own end. */
export function isCutShort({ status }: Result): boolean {
  return status !== 'running' && status !== 'exited' && status !== 'signaled'
}

/** Whether a model is to take a result for a failure. */
export function isFailure(result: Result): boolean {
  if (result.status === 'running') return false
  return result.status !== 'exited' || result.exitCode !== 0
}

/** A run that goes on as a job: how to read it, wait for it and stop it. `pid` where it is known. */
export function renderRunning(result: Result, pid: number | null): string {
  const id = result.jobId ?? result.id
  const file = result.artifact ? [`output file: ${result.artifact.path}`] : []
  const process = pid === null ? [] : [`process id: ${pid}`]
  const input =
    result.waitingForInput === null
      ? []
      : [`It waits for input (${result.waitingForInput}); write it: ${callJob('write', id)}`]
  return joinParts([
    renderOutput(result, ''),
    // The file is named below.
    ...(result.truncation ? describeCuts(result) : []),
    ...result.notices,
    [
      `Still running after ${formatDuration(result.durationMs)}`,
      `job id: ${id}`,
      ...process,
      ...file,
    ].join('; '),
    ...input,
    `Read its output: ${callJob('read', id)}; wait for its end: ${callJob('wait', id)}; ` +
      `stop it: ${callJob('kill', id)}`,
  ])
}

/** What a job wrote since a cursor. */
export function renderJobOutput(output: JobOutput): string {
  const { text, cursor, truncatedBefore, moreBytes, status } = output
  const more = moreBytes > 0 ? `${moreBytes} bytes more are there; ` : ''
  return joinParts([
    truncatedBefore > 0 ? `[${truncatedBefore} bytes before this are not shown]` : '',
    text === '' ? '(no new output)' : text,
    `Status: ${status}; ${more}to go on reading: cursor ${cursor}`,
  ])
}

/** One line for each job. */
export function renderJobs(jobs: readonly JobEntry[]): string {
  if (jobs.length === 0) return '(no jobs)'
  return jobs
    .map((job) => {
      const line = job.command.replaceAll(/\s+/g, ' ').slice(0, 100)
      return `${job.id}  ${job.status}  ${formatDuration(job.durationMs)}  ${line}`
    })
    .join('\n')
}

function callJob(action: string, id: string): string {
  return `bash_job {"action": "${action}", "job_id": "${id}"}`
}

function renderOutput(result: Result, empty = '(no output)'): string {
  if (result.status === 'denied' || result.status === 'not_started') return ''
  if (result.output !== undefined) return result.output === '' ? empty : result.output
  const { stdout = '', stderr = '' } = result
  if (stdout === '' && stderr === '') return empty
  return joinParts([stdout, stderr === '' ? '' : `stderr:\n${stderr}`])
}

function describeCuts(result: Result): string[] {
  const { truncation, artifact, stderrTruncation = null, stderrArtifact = null } = result
  return [
    ...describeCut(truncation, artifact, result.output === undefined ? 'stdout' : 'output'),
    ...describeCut(stderrTruncation, stderrArtifact, 'stderr'),
  ]
}

function describeCut(cut: Truncation | null, kept: ArtifactRef | null, what: string): string[] {
  const where = kept
    ? ` The ${kept.complete ? 'complete' : 'kept'} ${what}: ${kept.path} (artifact {"id": "${kept.id}"}).`
    : ''
  if (cut === null) return where === '' ? [] : [`[${where.trim()}]`]
  const { totalLines, outputLines, truncatedBy } = cut
  if (outputLines === totalLines) {
    const shown =
      totalLines === 1
        ? `A part of the only line of ${what} shown`
        : `All ${totalLines} lines of ${what} shown, long ones in part`
    return [`[${shown}.${where}]`]
  }
  const ranges = cut.shownRanges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
  const shown =
    ranges.length === 0
      ? `None of ${totalLines} lines of ${what} shown`
      : `Lines ${ranges.join(' and ')} of ${totalLines} of ${what} shown`
  return [`[${shown}, cut by ${truncatedBy}.${where}]`]
}

function describeEnd(result: Result): string {
  switch (result.status) {
    case 'exited': {
      const meaning = result.exitMeaning === null ? '' : ` (${result.exitMeaning})`
      return `[exit status ${result.exitCode}${meaning}]`
    }
    case 'signaled':
      return `[ended by ${result.signal}]`
    case 'denied':
      // The reason names a tool to use instead, where there is one.
      return `Denied, nothing was run: ${describeTrouble(result).join(' ')}`
    default:
      // The notices stand above already.
      return `[${describeTrouble(result)[0] ?? result.status}]`
  }
}

function joinParts(parts: readonly string[]): string {
  const told = parts.filter((part) => part !== '')
  return told.map((part) => (part.endsWith('\n') ? part.slice(0, -1) : part)).join('\n')
}
