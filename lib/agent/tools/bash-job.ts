import { MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { readingParams } from '../../protocol/result/reading.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { toWire } from '../../protocol/wire.ts'
import { lowerFirst } from '../../protocol/words.ts'
import { renderForModel, renderJobOutput, renderJobs } from '../../render/model.ts'
import { settleWithin } from '../../system/clock.ts'
import {
  boundsOf,
  isErrorFor,
  readArguments,
  textResult,
  type Tool,
  type ToolContext,
  type ToolResult,
} from './tool.ts'

const reading = Object.fromEntries(
  Object.entries(readingParams).map(([name, param]) => [
    name,
    { ...param, description: `read: ${lowerFirst(param.description ?? '')}` },
  ]),
) as typeof readingParams

const params = shape.object(
  { action: shape.choice(['list', 'read', 'wait', 'write', 'kill'], 'What to do') },
  {
    jobId: shape.text('Which job; read, wait, write and kill need it', { hint: 'id' }),
    ready: shape.text(
      'wait: also answer as soon as the job listens on a port (port:N), a line matches (regex:…) or its output has paused (quiet:ms)',
    ),
    waitSeconds: shape.seconds(
      `wait: at most so long (default 30, at most ${limits.jobWaitSeconds})`,
      { minimum: 0 },
    ),
    ...reading,
    text: shape.anyText('write: what to type; end it with a newline to enter a line'),
  },
)
type JobArguments = shape.Infer<typeof params>

const defaultWaitSeconds = 30
/** A job that has not read what was written by then reads it when it gets to it. */
const writeMs = 10_000

export const bashJobTool: Tool = {
  name: 'bash_job',
  title: 'Follow background jobs',
  readOnly: false,
  inputSchema: shape.jsonSchema(params),
  description: () =>
    [
      'Lists, reads, waits for, writes to and stops jobs: runs of the tool bash that go on by themselves.',
      '`read` gives the text since `cursor` and the next cursor, or with `tail` the newest lines; `wait` waits for its end; `write` types into a job on a terminal (`pty`); `kill` stops it with everything that it started.',
    ].join('\n'),
  async call(given, context) {
    const args = readArguments(params, given)
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
    const { signal, maxWaitSeconds = limits.jobWaitSeconds } = context
    const timeoutSeconds = Math.min(given.waitSeconds ?? defaultWaitSeconds, maxWaitSeconds)
    const { ready } = given
    const wait = { timeoutSeconds, ready, signal }
    const [result] = await context.executor.jobs.waitFor([jobIdOf(given)], wait)
    if (!result) throw new Error('a wait for a job told nothing of it')
    return textResult(renderForModel(result), isErrorFor(result, context), toWire(result))
  },
  async write(given, context) {
    const { jobs } = context.executor
    const id = jobIdOf(given)
    if (given.text === undefined) throw missing('text', 'write')
    const fields = { ...context.fields, origin: context.origin }
    const { taken } = await jobs.write(id, given.text, fields, context)
    let isTaken = false
    const written = taken.then(() => (isTaken = true))
    await settleWithin(writeMs, written)
    // Whoever asked is answered; the end of the job shows what became of the rest.
    written.catch(() => undefined)
    const text = isTaken
      ? '(written)'
      : '(written; the job has not read all of it yet and reads the rest when it gets to it)'
    return textResult(text, false, toWire(await jobs.show(id)))
  },
  async kill(given, { executor: { jobs } }) {
    const result = await jobs.kill(jobIdOf(given))
    return textResult(renderForModel(result), false, toWire(result))
  },
}

function jobIdOf({ jobId, action }: JobArguments): string {
  if (jobId === undefined) throw missing('job_id', action)
  return jobId
}

function missing(field: string, action: string): MisuseError {
  const where = field === 'job_id' ? '; `action: "list"` shows the ids' : ''
  return new MisuseError(
    'missing_field',
    `\`${field}\` is missing: ${action} needs it${where}`,
    field,
  )
}
