import { origins } from '../origin.ts'
import { outcome, statuses } from './result.ts'
import { textPart } from './reading.ts'
import * as shape from '../shape/shape.ts'

const { anyText, boolean, choice, integer, nullable, object } = shape

/** One line of the list of jobs: of any nacre of this user. */
export const jobEntryShape = object({
  /** Of the run. */
  id: anyText(),
  /** The same: a result has it while its run is a job. */
  jobId: anyText(),
  ...shape.pick(outcome, ['status', 'exitCode', 'signal', 'reason', 'command', 'cwd']),
  ...shape.pick(outcome, ['durationMs', 'error', 'artifact']),
  /** Null where a process without a record was found and nothing else is known of it. */
  origin: nullable(choice(origins)),
  /** The first process of the run. */
  pid: nullable(integer()),
  /** It has a terminal, which a person can attach to. */
  pty: boolean(),
  /** The nacre that holds the job, and whether it still runs. */
  ownerPid: nullable(integer()),
  ownerAlive: boolean(),
  /** ISO 8601, UTC. */
  startedAt: anyText(),
  endedAt: nullable(anyText()),
})
export interface JobEntry extends shape.Infer<typeof jobEntryShape> {}

/** How jobs can be chosen. */
export const jobFilter = {
  status: choice(
    ['running', 'ended', 'exited', 'signaled', 'stopped', 'lost', 'not_started'],
    'Only jobs that stand so; `ended` is every status but `running`',
  ),
  limit: integer('Only the newest ones (default all)', { min: 1 }),
}
export interface JobFilter extends shape.Optional<typeof jobFilter> {}

/** A part of what a job wrote, and how the job stands. */
export const jobOutputShape = object({ ...textPart, status: choice(statuses) })
export interface JobOutput extends shape.Infer<typeof jobOutputShape> {}
