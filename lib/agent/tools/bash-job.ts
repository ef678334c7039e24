import { MisuseError } from '../../protocol/errors.ts'
import { schemaOfParams } from '../../protocol/json-schema.ts'
import { limits } from '../../protocol/limits.ts'
import { createParamCheck, type Params } from '../../protocol/params.ts'
import { toWire } from '../../protocol/wire.ts'
import { isFailure, renderForModel, renderJobOutput, renderJobs } from '../../render/model.ts'
import { textResult, type Tool, type ToolContext, type ToolResult } from './tool.ts'

const actions = ['list', 'read', 'wait', 'write', 'kill'] as const

const params: Params = {
  action: {
    type: { kind: 'choice', values: actions },
    description: 'What to do',
    required: true,
  },
  jobId: {
    type: { kind: 'string', hint: 'id' },
    description: 'Which job; needed by every action but list',
  },
  cursor: {
    type: { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER },
    description: 'read: go on from here (default 0, the beginning)',
  },
  timeout: {
    type: { kind: 'atLeast', min: 0 },
    description: `wait: at most so many seconds (default 30, at most ${limits.jobWaitSeconds})`,
  },
  text: {
    type: { kind: 'text' },
    description: 'write: what to type; end it with a newline to enter a line',
  },
}

const checkParams = createParamCheck(params)

interface JobArguments {
  action: (typeof actions)[number]
  jobId?: string
  cursor?: number
  timeout?: number
  text?: string
}

const defaultWaitSeconds = 30

export const bashJobTool: Tool = {
  name: 'bash_job',
  title: 'Follow background jobs',
  readOnly: false,
  inputSchema: schemaOfParams(params),
  description: () =>
    [
      'Lists, reads, waits for, writes to and stops jobs: runs of the tool bash that go on by themselves.',
      '`read` gives the text since `cursor` and the next cursor; `wait` waits for the end; `write` types into a job on a terminal (`pty`); `kill` stops it with everything that it started.',
    ].join('\n'),
  async call(given, context) {
    const args = checkParams(given) as unknown as JobArguments
    return acts[args.action](args, context)
  },
}

type Act = (given: JobArguments, context: ToolContext) => Promise<ToolResult>

const acts: Readonly<Record<JobArguments['action'], Act>> = {
  async list(_, { executor: { jobs } }) {
    const list = jobs.list()
    return textResult(renderJobs(list), false, { jobs: toWire(list) })
  },
  async read(given, { executor: { jobs } }) {
    const output = jobs.read(jobIdOf(given), { cursor: given.cursor ?? 0 })
    return textResult(renderJobOutput(output), false, toWire(output))
  },
  async wait(given, { executor: { jobs }, maxWaitSeconds = limits.jobWaitSeconds }) {
    const seconds = Math.min(given.timeout ?? defaultWaitSeconds, maxWaitSeconds)
    const result = await jobs.wait(jobIdOf(given), seconds)
    return textResult(renderForModel(result), isFailure(result), toWire(result))
  },
  async write(given, { executor: { jobs } }) {
    const id = jobIdOf(given)
    if (given.text === undefined) throw missing('text', 'write')
    await jobs.write(id, given.text)
    return textResult('(written)', false, toWire(jobs.show(id)))
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
