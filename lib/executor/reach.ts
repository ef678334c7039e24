import type { GrepOptions } from '../output/artifact/search.ts'
import { noArtifact } from '../output/artifact/store.ts'
import { MisuseError } from '../protocol/errors.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { JobFilter, LineRange, Reading } from '../protocol/result/reading.ts'
import { decide } from './admission.ts'
import type { Executor, RunOptions } from './executor.ts'
import type { JobWait } from './jobs/port.ts'

/** What one conversation or connection of a model has of an executor. */
export type Reach = ReturnType<typeof createReach>

/**
 * Gives a conversation or connection of a model the jobs, artifacts and sessions of its own runs. Those of others
 * are as if they did not exist, but for the runs and artifacts that a person has handed to it.
 */
export function createReach(
  executor: Executor,
  belongsTo: string,
  handed: Pick<Set<string>, 'has'> = new Set(),
) {
  const { jobs, artifacts } = executor
  const ownsJob = async (id: string) => (await jobs.ownerOf(id)) === belongsTo || handed.has(id)
  const ownsArtifact = (id: string) => artifacts?.ownerOf(id) === belongsTo || handed.has(id)

  async function jobOf(id: string): Promise<string> {
    if (await ownsJob(id)) return id
    const message = `There is no job \`${id}\` of yours; \`action: "list"\` shows the whole ids`
    throw new MisuseError('not_found', message, 'job_id')
  }

  function artifactOf(given: string): string {
    const id = given.replace(/^artifact:\/\//, '')
    if (ownsArtifact(id)) return id
    throw noArtifact(given)
  }

  async function listJobs(filter?: JobFilter) {
    const list = await jobs.list(filter)
    const owned = await Promise.all(list.map(({ id }) => ownsJob(id)))
    return list.filter((_, at) => owned[at])
  }

  /**
   * `fields`: what holds for the commands of the model. Settles when the guard has let the text pass; `taken`
   * settles when the job has read it.
   */
  async function write(id: string, text: string, fields: RequestInput, asked: RunOptions) {
    const { status, cwd, host, sandbox } = await jobs.show(await jobOf(id))
    // As a terminal reads it: Enter is a newline, and keys that edit the line are no part of it.
    const typed = text.replaceAll('\r', '\n').replaceAll(/[\0-\x08\x0b-\x1f\x7f]/g, '')
    const input = { ...fields, command: typed.trim() || ':', cwd, ...(host && { host }) }
    const request = executor.parse(input)
    // Another machine tells of its sandbox only at the end.
    if (status === 'running' && request.sandbox !== 'off' && !sandbox && !host) {
      const message = `Job \`${id}\` runs outside of your sandbox; start it anew to write to it`
      throw new MisuseError('outside_sandbox', message, 'job_id')
    }
    // Programs read much that is no command: what no shell could read passes as a person's text does.
    const isCommand = (await executor.judge(input)).rule !== 'unreadable'
    const judged = isCommand ? input : { ...input, origin: 'rpc' as const }
    const { decision, reason } = await decide(request, () => executor.judge(judged), asked)
    if (decision === 'allow') return { taken: jobs.write(id, text) }
    throw new MisuseError('denied', `Denied, nothing was written: ${reason ?? ''}`, 'text')
  }

  /** A session of the same name that is not its own is another one. */
  function ownInput({ session, ...input }: RequestInput): RequestInput {
    const own = session === undefined ? {} : { session: `${session} of ${belongsTo}` }
    return { ...input, ...own, belongsTo }
  }

  return {
    agentHosts: executor.agentHosts,
    /** Whatever a model starts may outlive its door: each of its runs can become a job. */
    run: (input: RequestInput, options?: RunOptions) => executor.hold(ownInput(input), options),
    jobs: {
      list: listJobs,
      show: async (id: string) => jobs.show(await jobOf(id)),
      read: async (id: string, how?: Reading) => jobs.read(await jobOf(id), how),
      kill: async (id: string) => jobs.kill(await jobOf(id)),
      write,
      waitFor: async (ids: readonly string[], wait: JobWait & { any?: boolean | undefined }) =>
        jobs.waitFor(await Promise.all(ids.map(jobOf)), wait),
    },
    artifacts: artifacts && {
      list: async () => (await artifacts.list()).filter(({ id }) => ownsArtifact(id)),
      read: async (id: string, range?: LineRange, how?: Pick<RunOptions, 'signal'>) =>
        artifacts.read(artifactOf(id), range, how),
      grep: async (id: string, how: GrepOptions) => artifacts.grep(artifactOf(id), how),
    },
  }
}
