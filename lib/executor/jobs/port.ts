import { MisuseError } from '../../protocol/errors.ts'
import type { Bounds } from '../../protocol/ports.ts'
import type { JobEntry, JobFilter, JobOutput, Reading } from '../../protocol/result/reading.ts'
import type { Result, StopReason } from '../../protocol/result/result.ts'
import type { TaskEnd } from '../../protocol/array.ts'
import type { WireCall } from '../../wire/server.ts'
import type { Run } from '../run.ts'

/** The side of a connection that is told what happens to a job. */
export type Follower = Pick<WireCall, 'id' | 'notify'>

/** What ends a wait before the end of the job. */
export interface JobWait {
  /** At most 300, which is the default. */
  timeoutSeconds?: number | undefined
  /** The job is ready: `port:N`, `regex:…` or `quiet:ms`. */
  ready?: string | undefined
  /** Nobody waits any more. */
  signal?: AbortSignal | undefined
}

/**
 * The jobs of every nacre of this user: the runs of this process that nobody waits for, those that living
 * holders have, and what is known of the dead ones'. An id may be given by its beginning, with or without
 * `run_`; a run of this process that is no job yet is found too. Unknown and ambiguous ids are `MisuseError`s.
 */
export interface Jobs {
  /** The run of this process that is alive, also before its start is told, or one that has ended as a job. */
  find(id: string): Run
  /** In the order in which they were started. */
  list(filter?: JobFilter): Promise<JobEntry[]>
  /** By its whole id: the conversation or connection of a model that it belongs to; else null. */
  ownerOf(id: string): Promise<string | null>
  /** By its whole id: what confines it; null: nothing, or it is not known. */
  boundsOf(id: string): Promise<Bounds | null>
  /** The files of records that are damaged, whose jobs no list has. */
  listDamaged(): Promise<string[]>
  show(id: string): Promise<Result>
  read(id: string, reading?: Reading): Promise<JobOutput>
  /** The tasks of an array that have ended. Throws `MisuseError` where the job is no array. */
  tasks(id: string): Promise<TaskEnd[]>
  /** Gives how it stands when the wait is over. */
  wait(id: string, wait?: JobWait): Promise<Result>
  /** Waits for all of them, or for the first; the results are in the order of the ids. */
  waitFor(ids: readonly string[], wait?: JobWait & { any?: boolean | undefined }): Promise<Result[]>
  /** Tells a follower what happens from now on. Gives how it stands at its end, or when `signal` aborts. */
  follow(id: string, follower: Follower, signal: AbortSignal): Promise<Result>
  /** Writes to its terminal or its open input, in order, and perhaps ends that. Settles when it is taken. */
  write(id: string, data: string, options?: { end?: boolean }): Promise<void>
  resize(id: string, columns: number, rows: number): Promise<void>
  /** Settles when nothing of it is alive any more, or what is left is named. */
  kill(id: string, reason?: StopReason): Promise<Result>
}

/** One job, whoever holds it: a run of this process, or what a record and the socket in it lead to. */
export interface Job {
  show(): Promise<Result>
  read(reading: Reading): Promise<JobOutput>
  wait(wait: JobWait & { timeoutSeconds: number }): Promise<Result>
  follow(follower: Follower, signal: AbortSignal): Promise<Result>
  write(data: string, end: boolean): Promise<void>
  resize(columns: number, rows: number): Promise<void>
  kill(reason: StopReason): Promise<Result>
}

export function notFound(id: string): MisuseError {
  const message = `There is no job \`${id}\`; the list of jobs (nacre job list) has their ids`
  return new MisuseError('not_found', message, 'job_id')
}
