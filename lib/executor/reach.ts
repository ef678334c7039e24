import type { GrepOptions } from '../output/artifact/search.ts'
import { noArtifact } from '../output/artifact/store.ts'
import { MisuseError } from '../protocol/errors.ts'
import type { Bounds } from '../protocol/ports.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { Verdict } from '../protocol/rules.ts'
import type { JobFilter, LineRange, Reading } from '../protocol/result/reading.ts'
import { isWithin } from '../system/look.ts'
import { decide } from './admission.ts'
import type { Executor, RunOptions } from './executor.ts'
import type { JobWait } from './jobs/port.ts'

/** What a model may do with a run or an artifact of others: read it, or also write to it and stop it. */
export type Act = 'read' | 'write'

/** What one conversation or connection of a model has of an executor. */
export type Reach = ReturnType<typeof createReach>

/**
 * Gives a conversation or connection of a model the jobs, artifacts and sessions of its own runs. Those of others
 * are as if they did not exist, but for what a person has handed to it, for that act. `handed`: says so of an id.
 */
export function createReach(
  executor: Executor,
  belongsTo: string,
  handed: (id: string, act: Act) => boolean = () => false,
) {
  const { jobs, artifacts } = executor

  /** The one place that decides. `owner`: of what has this id. */
  const may = (act: Act, id: string, owner: string | null) => owner === belongsTo || handed(id, act)
  const mayRead = async (id: string) => may('read', id, await jobs.ownerOf(id))
  const mayReadArtifact = (id: string) => may('read', id, artifacts?.ownerOf(id) ?? null)

  async function jobOf(id: string, act: Act = 'read'): Promise<string> {
    if (may(act, id, await jobs.ownerOf(id))) return id
    if (!(await mayRead(id))) {
      const message = `There is no job \`${id}\` of yours; \`action: "list"\` shows the whole ids`
      throw new MisuseError('not_found', message, 'job_id')
    }
    const message = `Job \`${id}\` is yours to read only; the user can hand over more (/share ${id} write)`
    throw new MisuseError('read_only', message, 'job_id')
  }

  function artifactOf(given: string): string {
    const id = given.replace(/^artifact:\/\//, '')
    if (mayReadArtifact(id)) return id
    throw noArtifact(given)
  }

  async function listJobs(filter?: JobFilter) {
    const list = await jobs.list(filter)
    const owned = await Promise.all(list.map(({ id }) => mayRead(id)))
    return list.filter((_, at) => owned[at])
  }

  /** What the model has typed into each job, once its last text has been judged. */
  const typed = new Map<string, Promise<Typed>>()

  /**
   * `fields`: what holds for the commands of the model. Settles when the guard has let the text pass, one text after
   * the other; `taken` settles when the job has read it.
   */
  async function write(id: string, text: string, fields: RequestInput, asked: RunOptions) {
    const before = typed.get(id) ?? Promise.resolve([''])
    const judged = before.then((it) => judgeText(id, it, text, { fields, asked }))
    typed.set(
      id,
      judged.catch(() => before),
    )
    await judged
    return { taken: jobs.write(id, text) }
  }

  /** Gives what is typed then. Rejects with `MisuseError` if the text must not be written. */
  async function judgeText(
    id: string,
    before: Typed,
    text: string,
    { fields, asked }: { fields: RequestInput; asked: RunOptions },
  ): Promise<Typed> {
    const { status, cwd, host } = await jobs.show(await jobOf(id, 'write'))
    const there = { ...fields, ...(host && { host }) }
    const own = await executor.boundsOf({ ...there, command: ':' })
    if (status === 'running' && isWeaker(await jobs.boundsOf(id), own)) {
      const message = `Job \`${id}\` runs outside of your sandbox, or is free to do more; start it anew to write to it`
      throw new MisuseError('outside_sandbox', message, 'job_id')
    }
    const entered = before.slice(0, -1)
    const lines = readTyped(before.at(-1) ?? '', text)
    const input = { ...there, command: lines.join('\n').trim() || ':', cwd }
    const verdict = await judgeLines(input, entered)
    const { decision, reason } = await decide(executor.parse(input), () => verdict, asked)
    if (decision !== 'allow') {
      throw new MisuseError('denied', `Denied, nothing was written: ${reason ?? ''}`, 'text')
    }
    // What a person has allowed is asked about once.
    const kept = verdict.decision === 'allow' ? lines : lines.slice(-1)
    return [...entered, ...kept].slice(-linesKept)
  }

  /** By itself, and with the lines before it, since what it does depends on them. */
  async function judgeLines(input: RequestInput, before: readonly string[]): Promise<Verdict> {
    const alone = await executor.judge(input)
    // Programs read much that is no command: what no shell could read passes as a person's text does.
    if (alone.rule === 'unreadable') return executor.judge({ ...input, origin: 'rpc' })
    if (alone.decision !== 'allow' || before.length === 0) return alone
    const whole = await executor.judge({ ...input, command: [...before, input.command].join('\n') })
    return whole.rule === 'unreadable' ? alone : whole
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
      kill: async (id: string) => jobs.kill(await jobOf(id, 'write')),
      write,
      waitFor: async (ids: readonly string[], wait: JobWait & { any?: boolean | undefined }) =>
        jobs.waitFor(await Promise.all(ids.map((id) => jobOf(id))), wait),
    },
    artifacts: artifacts && {
      list: async () => (await artifacts.list()).filter(({ id }) => mayReadArtifact(id)),
      read: async (id: string, range?: LineRange, how?: Pick<RunOptions, 'signal'>) =>
        artifacts.read(artifactOf(id), range, how),
      grep: async (id: string, how: GrepOptions) => artifacts.grep(artifactOf(id), how),
    },
  }
}

/** The lines that a model has typed into a job; the last one is not entered yet. */
type Typed = readonly string[]

const linesKept = 21

/**
 * As a terminal reads it: Enter is a newline, ^C and ^U drop the line, and a backspace its last character. Other keys
 * are no part of it.
 */
function readTyped(line: string, text: string): string[] {
  const entered: string[] = []
  for (const key of text.replaceAll('\r\n', '\n')) {
    if (key === '\n' || key === '\r') {
      entered.push(line)
      line = ''
    } else if (key === '\x03' || key === '\x15') line = ''
    else if (key === '\b' || key === '\x7f') line = line.slice(0, -1)
    else if (key >= ' ' || key === '\t') line += key
  }
  return [...entered, line]
}

/** Whether a job may do what a run within its model's bounds may not. */
function isWeaker(job: Bounds | null, own: Bounds | null): boolean {
  if (own === null || job === null) return own !== null
  const opens = (path: string) => own.writable?.some((folder) => isWithin(path, folder))
  const isWider = own.writable !== null && !job.writable?.every(opens)
  return isWider || (job.network === 'on' && own.network === 'off')
}
