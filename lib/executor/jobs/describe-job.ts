import type { JobEntry } from '../../protocol/result/job.ts'
import type { Result } from '../../protocol/result/result.ts'

/** What is known of a job beside its result. */
type JobFacts = Omit<
  JobEntry,
  'jobId' | 'status' | 'exitCode' | 'signal' | 'reason' | 'durationMs' | 'error'
>

/**
 * A job as a line of the list. `result`: the final one, or null while the job goes on. It stands apart from the
 * records and the shapes of jobs, which a run that is none does not load.
 */
export function describeJob(facts: JobFacts, result: Result | null): JobEntry {
  return {
    ...facts,
    jobId: facts.id,
    status: result?.status ?? 'running',
    exitCode: result?.exitCode ?? null,
    signal: result?.signal ?? null,
    reason: result?.reason ?? null,
    durationMs: result?.durationMs ?? Math.max(0, Date.now() - Date.parse(facts.startedAt)),
    error: result?.error ?? null,
    artifact: result?.artifact ?? facts.artifact,
  }
}
