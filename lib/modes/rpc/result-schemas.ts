import {
  failureSchema,
  jobSchema,
  reasonSchema,
  resultSchema,
  statusSchema,
  streamSchema,
  verdictSchema,
} from '../../protocol/result-schema.ts'
import type { MethodName, RpcNotifications } from '../../protocol/rpc-messages.ts'
import {
  count,
  flag,
  list,
  milliseconds,
  object,
  oneOf,
  orNull,
  type Schema,
  text,
} from '../../protocol/schema.ts'

const nothing = object({})
const requestId = { type: ['string', 'number', 'null'] }

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
  stream: streamSchema,
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
      status: statusSchema,
      reason: reasonSchema,
    },
    {
      stdout_cache_id: text,
      stderr_cache_id: text,
      job_id: text,
      error: failureSchema,
      verdict: verdictSchema,
      notices: list(text),
    },
  ),
  'shell.start': resultSchema,
  'shell.status': resultSchema,
  'shell.list': object({ jobs: list(jobSchema) }),
  'shell.output': object({
    text,
    cursor: count,
    truncated_before: count,
    more_bytes: count,
    status: statusSchema,
  }),
  'shell.wait': resultSchema,
  'shell.detach': resultSchema,
  'shell.cancel': resultSchema,
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
  prompt: object({ disposition: oneOf('handled'), result: resultSchema }),
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
  'shell.output': object({ id: text, stream: streamSchema, data: text }),
  'shell.exited': object({
    id: text,
    status: statusSchema,
    exit_code: orNull({ type: 'integer' }),
    signal: orNull(text),
    reason: reasonSchema,
    duration_ms: milliseconds,
  }),
  'prompt.event': object({ request_id: requestId, event: { type: 'object', required: ['type'] } }),
}

/** What the server asks the client, and the answer. */
export const clientMethodSchemas = {
  'approval.request': {
    params: object({ id: text, command: text, cwd: text, verdict: verdictSchema }),
    result: object({ approved: flag }),
  },
}
