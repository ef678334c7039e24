import { MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { check } from '../../protocol/shape/check.ts'
import { objectSchema } from '../../protocol/shape/json-schema.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { toWire } from '../../protocol/wire.ts'
import { isFailure, renderForModel, renderJobOutput, renderJobs } from '../../render/model.ts'
import { textResult, type Tool, type ToolContext, type ToolResult } from './tool.ts'

const params = shape.object(
  { action: shape.choice(['list', 'read', 'wait', 'write', 'kill'], 'What to do') },
  {
    jobId: shape.text('Which job; needed by every action but list', { hint: 'id' }),
    cursor: shape.integer('read: go on from here (default 0, the beginning)'),
    timeout: shape.number(
      `wait: at most so many seconds (default 30, at most ${limits.jobWaitSeconds})`,
      { min: 0 },
    ),
    text: shape.anyText('write: what to type; end it with a newline to enter a line'),
  },
)
type JobArguments = shape.Infer<typeof params>

const defaultWaitSeconds = 30

export const bashJobTool: Tool = {
  name: 'bash_job',
  title: 'Follow background jobs',
  readOnly: false,
  inputSchema: objectSchema(params),
  description: () =>
    [
      'Lists, reads, waits for, writes to and stops jobs: runs of the tool bash that go on by themselves.',
      '`read` gives the text since `cursor` and the next cursor; `wait` waits for the end; `write` types into a job on a terminal (`pty`); `kill` stops it with everything that it started.',
    ].join('\n'),
  async call(given, context) {
    const args = check(params, given, '', { names: 'wire' })
    return acts[args.action](args, context)
  },
}

type Act = (given: JobArguments, context: ToolContext) => Promise<ToolResult>

const acts: Readonly<Record<JobArguments['action'], Act>> = {
  async list(_, { executor: { jobs } }) {
    const list = await jobs.list()
    return textResult(renderJobs(list), false, { jobs: toWire(list) })
  },
  async read(given, { executor: { jobs } }) {
    const output = await jobs.read(jobIdOf(given), { cursor: given.cursor ?? 0 })
    return textResult(renderJobOutput(output), false, toWire(output))
  },
  async wait(given, { executor: { jobs }, maxWaitSeconds = limits.jobWaitSeconds }) {
    const seconds = Math.min(given.timeout ?? defaultWaitSeconds, maxWaitSeconds)
    const result = await jobs.wait(jobIdOf(given), { timeoutSeconds: seconds })
    return textResult(renderForModel(result), isFailure(result), toWire(result))
  },
  async write(given, { executor: { jobs } }) {
    const id = jobIdOf(given)
    if (given.text === undefined) throw missing('text', 'write')
    await jobs.write(id, given.text)
    return textResult('(written)', false, toWire(await jobs.show(id)))
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
  return new MisuseError('missing_field', `\`${field}\` is missing: ${action} needs it`, field)
}
