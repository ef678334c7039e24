import { messageOf } from '../../protocol/errors.ts'
import type { Jobs } from '../jobs.ts'
import type { Task } from '../task.ts'
import { identifyProcess, identifySelf, isAlive } from '../../system/process-table.ts'
import { type JobServer, serveJobs } from './job-server.ts'
import { pruneJobs } from './prune.ts'
import {
  ensureJobsFolder,
  type JobRecord,
  readRecords,
  removeRecord,
  writeRecord,
  writeText,
} from './record.ts'
import { findSocketPlace } from './socket-path.ts'

/** Makes the jobs of one executor known to every nacre of this user. */
export interface Registry {
  /** How many jobs of this user are alive. */
  countAlive(): number
  /**
   * Declares a run that its caller may leave. Never rejects: what could not be written is a notice of
   * the task.
   */
  declare(task: Task): Promise<void>
  /** The run ended while its caller waited: it was never a job. */
  withdraw(task: Task): void
  /** The caller has left: the end is to be written when it comes. */
  keep(task: Task): Promise<void>
  close(): Promise<void>
}

/** `dir` is the folder of the jobs. The socket opens with the first job. */
export function createRegistry(dir: string, jobs: Jobs): Registry {
  const records = new Map<string, JobRecord>()
  let opening: Promise<JobServer> | null = null
  let server: JobServer | null = null

  async function open(): Promise<JobServer> {
    ensureJobsFolder(dir)
    pruneJobs(dir)
    server = await serveJobs(jobs, findSocketPlace(dir))
    return server
  }

  function attempt(task: Task, write: () => void): void {
    try {
      write()
    } catch (error) {
      task.notice(`Other nacres cannot see this job: ${messageOf(error)}`)
    }
  }

  return {
    countAlive() {
      try {
        return readRecords(dir).filter(({ endedAt, owner }) => !endedAt && isAlive(owner)).length
      } catch {
        // A folder that cannot be read: `declare` tells of it.
        return 0
      }
    },

    async declare(task) {
      // Read first: a process that has ended meanwhile is gone from the table.
      const draft = describeTask(task)
      try {
        const { path } = await (opening ??= open())
        const record = { ...draft, socket: path }
        writeRecord(dir, record)
        records.set(task.request.id, record)
      } catch (error) {
        opening = null
        task.notice(`Other nacres cannot see this job: ${messageOf(error)}`)
      }
    },

    withdraw(task) {
      const { id } = task.request
      if (!records.delete(id)) return
      attempt(task, () => removeRecord(dir, id))
    },

    async keep(task) {
      const result = await task.ended
      const { id } = task.request
      const record = records.get(id) ?? describeTask(task)
      records.delete(id)
      attempt(task, () => {
        ensureJobsFolder(dir)
        const { text, start } = task.capture.kept()
        writeText(dir, id, text)
        writeRecord(dir, {
          ...record,
          endedAt: new Date().toISOString(),
          artifact: result.artifact,
          stderrArtifact: result.stderrArtifact ?? null,
          result,
          textStart: start,
        })
      })
    },

    async close() {
      await server?.close()
    },
  }
}

function describeTask(task: Task): JobRecord {
  const { request, running } = task
  const { artifact, stderrArtifact = null } = task.look()
  return {
    id: request.id,
    command: request.command,
    cwd: request.cwd,
    origin: request.origin,
    pty: request.pty,
    process: running.pid === null ? null : identifyProcess(running.pid),
    owner: identifySelf(),
    socket: null,
    startedAt: new Date().toISOString(),
    endedAt: null,
    artifact,
    stderrArtifact,
    result: null,
    textStart: 0,
  }
}
