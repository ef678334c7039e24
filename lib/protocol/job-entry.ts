import type { ArtifactRef, Result } from './result.ts'

/** One line of the list of jobs: of any nacre of this user. */
export interface JobEntry extends Pick<
  Result,
  'status' | 'exitCode' | 'signal' | 'reason' | 'command' | 'cwd' | 'durationMs' | 'error'
> {
  jobId: string
  /** Null where a process without a record was found and nothing else is known of it. */
  origin: Result['origin'] | null
  /** The first process of the run. */
  pid: number | null
  /** The nacre that holds the job, and whether it still runs. */
  ownerPid: number | null
  ownerAlive: boolean
  /** ISO 8601, UTC. */
  startedAt: string
  endedAt: string | null
  artifact: ArtifactRef | null
}
