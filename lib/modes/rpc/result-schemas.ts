import type { MethodName, RpcNotifications } from '../../protocol/rpc-messages.ts'

/** A JSON Schema (2020-12). */
export type Schema = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const flag = { type: 'boolean' }
const count = { type: 'integer', minimum: 0 }
const milliseconds = { type: 'number', minimum: 0 }
const nothing = object({})
const requestId = { type: ['string', 'number', 'null'] }

function list(items: Schema): Schema {
  return { type: 'array', items }
}
function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] }
}
function oneOf(...values: string[]): Schema {
  return { type: 'string', enum: values }
}
/** Every field is there; those of `optional` may be missing. */
function object(fields: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema {
  return {
    type: 'object',
    properties: { ...fields, ...optional },
    required: Object.keys(fields),
    additionalProperties: false,
  }
}

const status = oneOf('exited', 'signaled', 'stopped', 'running', 'denied', 'not_started')
const reason = orNull(oneOf('timeout', 'inactivity', 'cancel', 'kill', 'shutdown', 'output_limit'))
const stream = oneOf('output', 'stdout', 'stderr')
const failure = object({ code: text, message: text })
const verdict = object({
  decision: oneOf('allow', 'ask', 'redirect', 'deny'),
  rule: orNull(text),
  reason: orNull(text),
  matched: orNull(text),
  suggested_tool: orNull(text),
})
const truncation = object({
  direction: oneOf('head', 'tail', 'head-tail', 'middle'),
  truncated_by: oneOf('lines', 'bytes'),
  total_lines: count,
  total_bytes: count,
  output_lines: count,
  output_bytes: count,
  shown_ranges: list(list(count)),
})
const artifact = object({ id: text, uri: text, path: text, bytes: count, complete: flag })

const job = {
  id: text,
  origin: oneOf('repl', 'print', 'rpc', 'agent', 'mcp'),
  command: text,
  cwd: text,
  status,
  exit_code: orNull({ type: 'integer' }),
  signal: orNull(text),
  reason,
  exit_meaning: orNull(text),
  pipe_status: orNull(list({ type: 'integer' })),
  waiting_for_input: orNull(oneOf('line', 'password', 'raw')),
  survivors: list(object({ pid: count, command: text })),
  duration_ms: milliseconds,
  truncation: orNull(truncation),
  artifact: orNull(artifact),
  job_id: orNull(text),
  error: orNull(failure),
  verdict: orNull(verdict),
  notices: list(text),
}
const jobOptional = {
  stderr_truncation: orNull(truncation),
  stderr_artifact: orNull(artifact),
  sandbox: object({ mechanism: text, network: oneOf('on', 'off'), degraded: flag }),
}
const result = object(job, { ...jobOptional, output: text, stdout: text, stderr: text })

const session = object({
  name: text,
  pid: orNull(count),
  cwd: text,
  busy: flag,
  queued: count,
  idle_ms: milliseconds,
})
const lines = object({
  text,
  from: count,
  to: count,
  next_offset: orNull(count),
  total_lines: orNull(count),
})
const artifactInfo = object({
  id: text,
  uri: text,
  path: text,
  run_id: text,
  command: text,
  stream,
  created_at: text,
  ended_at: orNull(text),
  bytes: count,
  complete: flag,
  is_live: flag,
})

/** What each method answers. */
export const resultSchemas: Readonly<Record<MethodName, Schema>> = {
  initialize: object({
    server: object({ name: text, version: text }),
    capabilities: object({
      supports_shell_exec: flag,
      supports_shell_tasks: flag,
      supports_shell_detach: flag,
      supports_sessions: flag,
      supports_tools: flag,
      supports_artifacts: flag,
      supports_prompt: flag,
      supports_cancel: flag,
    }),
  }),
  'shell.exec': object(
    {
      id: text,
      exit_code: orNull({ type: 'integer' }),
      signal: orNull(text),
      stdout: text,
      stderr: text,
      truncated: object({ stdout: flag, stderr: flag, combined: flag }),
      duration_ms: milliseconds,
      command_preview: { type: 'string', maxLength: 400 },
      status,
      reason,
    },
    {
      stdout_cache_id: text,
      stderr_cache_id: text,
      job_id: text,
      error: failure,
      verdict,
      notices: list(text),
    },
  ),
  'shell.start': result,
  'shell.status': result,
  'shell.list': object({ jobs: list(object(job, jobOptional)) }),
  'shell.output': object({ text, cursor: count, truncated_before: count, status }),
  'shell.wait': result,
  'shell.detach': result,
  'shell.cancel': result,
  'shell.input': nothing,
  'shell.resize': nothing,
  'session.open': session,
  'session.list': object({ sessions: list(session) }),
  'session.close': object({ closed: flag }),
  'tool.list': object({
    tools: list(
      object({
        name: text,
        title: text,
        description: text,
        input_schema: { type: 'object' },
        read_only: flag,
      }),
    ),
  }),
  'tool.call': object({
    content: list(object({ type: oneOf('text'), text })),
    is_error: flag,
    details: {},
  }),
  'artifact.read': lines,
  'artifact.grep': object({
    text,
    matches: count,
    next_offset: orNull(count),
    timed_out: flag,
  }),
  'artifact.list': object({ artifacts: list(artifactInfo) }),
  'artifact.remove': object({ removed: flag }),
  tool_output_cache: lines,
  prompt: object({ disposition: oneOf('handled'), result }),
  'prompt.cancel': object({ cancelled: count }),
  '$/cancel': object({ cancelled: flag }),
}

/** What each notification carries. */
export const notificationSchemas: Readonly<Record<keyof RpcNotifications, Schema>> = {
  'shell.started': object({
    id: text,
    pid: orNull(count),
    command: text,
    request_id: requestId,
  }),
  'shell.output': object({ id: text, stream, data: text }),
  'shell.exited': object({
    id: text,
    status,
    exit_code: orNull({ type: 'integer' }),
    signal: orNull(text),
    reason,
    duration_ms: milliseconds,
  }),
  'prompt.event': object({ request_id: requestId, event: { type: 'object', required: ['type'] } }),
}

/** What the server asks the client, and the answer. */
export const clientMethodSchemas = {
  'approval.request': {
    params: object({ id: text, command: text, cwd: text, verdict }),
    result: object({ approved: flag }),
  },
}
