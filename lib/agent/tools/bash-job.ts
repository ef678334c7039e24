import { setTimeout as delay } from 'node:timers/promises'
import { contradiction, MisuseError } from '../../protocol/errors.ts'
import { fields } from '../../protocol/request/fields.ts'
import { limits } from '../../protocol/limits.ts'
import { objectSchema } from '../../protocol/shape/json-schema.ts'
import { readingParams } from '../../protocol/result/reading.ts'
import type { Result } from '../../protocol/result/result.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { toWire } from '../../protocol/wire.ts'
import { lowerFirst } from '../../protocol/words.ts'
import {
  renderForModel,
  renderJobOutput,
  renderJobs,
  renderJobResults,
} from '../../render/model.ts'
import { type Habits, readArguments } from './arguments.ts'
import {
  boundsOf,
  isErrorFor,
  textResult,
  type Tool,
  type ToolContext,
  type ToolResult,
} from './tool.ts'

const reading = Object.fromEntries(
  Object.entries(readingParams).map(([name, param]) => [
    name,
    shape.describe(param, `read: ${lowerFirst(param.description ?? '')}`),
  ]),
) as typeof readingParams

const params = shape.object(
  { action: shape.choice(['list', 'read', 'wait', 'write', 'kill'], 'What to do') },
  {
    jobId: shape.text('Which job; read, wait, write and kill need it', { hint: 'id' }),
    jobIds: shape.list(
      shape.text('', { hint: 'id' }),
      'wait: several jobs, in place of job_id; the answer comes when all have ended',
    ),
    any: shape.boolean('wait: of several jobs, answer when the first has ended'),
    ready: shape.describe(
      fields.ready,
      'wait: also answer as soon as the job listens on a port (port:N), a line matches (regex:…) or its output has paused (quiet:ms)',
    ),
    waitSeconds: shape.number(
      `wait: at most so long (default 30, at most ${limits.jobWaitSeconds})`,
      { min: 0 },
    ),
    ...reading,
    text: shape.anyText('write: what to type; end it with a newline to enter a line'),
  },
)
type JobArguments = shape.Infer<typeof params>

const habits: Habits = {
  names: {
    id: 'job_id',
    bash_id: 'job_id',
    ids: 'job_ids',
    timeout: 'wait_seconds',
    timeout_seconds: 'wait_seconds',
    input: 'text',
    data: 'text',
    lines: 'tail',
  },
  ignored: ['description'],
}

const defaultWaitSeconds = 30
/** A job that has not read what was written by then reads it when it gets to it. */
const writeSeconds = 10

export const bashJobTool: Tool = {
  name: 'bash_job',
  title: 'Follow background jobs',
  readOnly: false,
  inputSchema: objectSchema(params),
  description: () =>
    [
      'Lists, reads, waits for, writes to and stops jobs: runs of the tool bash that go on by themselves.',
      '`read` gives the text since `cursor` and the next cursor, or with `tail` the newest lines; `wait` waits for the end of `job_id` or `job_ids`; `write` types into a job on a terminal (`pty`); `kill` stops it with everything that it started.',
    ].join('\n'),
  async call(given, context) {
    const args = readArguments(params, given, habits)
    return acts[args.action](args, context)
  },
}

type Act = (given: JobArguments, context: ToolContext) => Promise<ToolResult>

const acts: Readonly<Record<JobArguments['action'], Act>> = {
  async list(_, { executor: { jobs } }) {
    const list = await jobs.list()
    return textResult(renderJobs(list), false, { jobs: toWire(list) })
  },
  async read(given, context) {
    const { cursor, stream, head, tail } = given
    const wanted = { cursor, stream, head, tail, ...boundsOf(given, context) }
    const output = await context.executor.jobs.read(jobIdOf(given), wanted)
    return textResult(renderJobOutput(output), false, toWire(output))
  },
  async wait(given, context) {
    const { jobs } = context.executor
    const { signal, maxWaitSeconds = limits.jobWaitSeconds } = context
    const { jobIds, jobId, any, ready } = given
    if (jobIds && jobId !== undefined) throw contradiction('job_id', 'job_ids')
    if (jobIds?.length === 0) {
      throw new MisuseError('invalid_field', '`job_ids` must name at least one job', 'job_ids')
    }
    const timeoutSeconds = Math.min(given.waitSeconds ?? defaultWaitSeconds, maxWaitSeconds)
    const results = await jobs.waitFor(jobIds ?? [jobIdOf(given)], {
      timeoutSeconds,
      any,
      ready,
      signal,
    })
    const isError = results.some((result) => isErrorFor(result, context))
    const [result] = results
    if (jobIds || !result) {
      const shown = await keepToOnePage(results, context)
      return textResult(renderJobResults(shown), isError, { jobs: toWire(shown) })
    }
    return textResult(renderForModel(result), isError, toWire(result))
  },
  async write(given, context) {
    const { jobs } = context.executor
    const id = jobIdOf(given)
    if (given.text === undefined) throw missing('text', 'write')
    const fields = { ...context.fields, origin: context.origin }
    const { taken } = await jobs.write(id, given.text, fields, context)
    const over = new AbortController()
    const written = taken.then(() => '(written)')
    const late = delay(writeSeconds * 1000, undefined, { signal: over.signal }).then(
      () => '(written; the job has not read all of it yet and reads the rest when it gets to it)',
      () => '',
    )
    try {
      return textResult(await Promise.race([written, late]), false, toWire(await jobs.show(id)))
    } finally {
      over.abort()
      // Whoever asked was answered; the end of the job shows what became of the rest.
      written.catch(() => undefined)
    }
  },
  async kill(given, { executor: { jobs } }) {
    const result = await jobs.kill(jobIdOf(given))
    return textResult(renderForModel(result), false, toWire(result))
  },
}

/** Several jobs share the room of one: where they do not fit, each shows its last lines. */
async function keepToOnePage(
  results: readonly Result[],
  context: ToolContext,
): Promise<readonly Result[]> {
  const { maxLines = limits.maxLines, maxBytes = limits.maxBytes } = boundsOf({}, context)
  const share = {
    maxLines: Math.max(1, Math.floor(maxLines / results.length)),
    maxBytes: Math.max(1, Math.floor(maxBytes / results.length)),
  }
  const fits = (text: string, room: typeof share) =>
    Buffer.byteLength(text) <= room.maxBytes && text.split('\n').length <= room.maxLines
  const textOf = ({ output, stdout = '', stderr = '' }: Result) => output ?? stdout + stderr
  if (fits(results.map(textOf).join(''), { maxLines, maxBytes })) return results
  return Promise.all(
    results.map(async (result) => {
      if (fits(textOf(result), share)) return result
      const { stdout: _, stderr: __, ...rest } = result
      const { text } = await context.executor.jobs.read(result.id, {
        ...share,
        tail: share.maxLines,
      })
      const notice = `Only its last lines are shown, since ${results.length} jobs are told at once; bash_job read gives the others`
      return { ...rest, output: text, truncation: null, notices: [...result.notices, notice] }
    }),
  )
}

function jobIdOf({ jobId, jobIds, action }: JobArguments): string {
  if (jobId !== undefined) return jobId
  if (jobIds) {
    const message = `\`${action}\` takes one job; name it by \`job_id\` (\`job_ids\` is for wait)`
    throw new MisuseError('invalid_field', message, 'job_ids')
  }
  throw missing('job_id', action)
}

function missing(field: string, action: string): MisuseError {
  const where = field === 'job_id' ? '; `action: "list"` shows the ids' : ''
  return new MisuseError(
    'missing_field',
    `\`${field}\` is missing: ${action} needs it${where}`,
    field,
  )
}
