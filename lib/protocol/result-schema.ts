import { origins } from './request.ts'

type Schema = Record<string, unknown>

const text: Schema = { type: 'string' }
const number: Schema = { type: 'number' }
const integer: Schema = { type: 'integer' }
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })
const listOf = (items: Schema): Schema => ({ type: 'array', items })
const object = (properties: Record<string, Schema>, optional: string[] = []): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
})

const truncation = object({
  direction: { type: 'string', enum: ['head', 'tail', 'head-tail', 'middle'] },
  truncated_by: { type: 'string', enum: ['lines', 'bytes'] },
  total_lines: integer,
  total_bytes: integer,
  output_lines: integer,
  output_bytes: integer,
  shown_ranges: listOf({ type: 'array', items: integer, minItems: 2, maxItems: 2 }),
})

const artifact = object({
  id: text,
  uri: text,
  path: text,
  bytes: integer,
  complete: { type: 'boolean' },
})

/** JSON Schema (2020-12) of a result in the names of the wire; `result.ts` says what each field means. */
export const resultSchema = object(
  {
    id: text,
    origin: { type: 'string', enum: [...origins] },
    command: text,
    cwd: text,
    status: {
      type: 'string',
      enum: ['exited', 'signaled', 'stopped', 'running', 'denied', 'not_started'],
    },
    exit_code: orNull(integer),
    signal: orNull(text),
    reason: orNull({
      type: 'string',
      enum: ['timeout', 'inactivity', 'cancel', 'kill', 'shutdown', 'output_limit'],
    }),
    exit_meaning: orNull(text),
    pipe_status: orNull(listOf(integer)),
    waiting_for_input: orNull({ type: 'string', enum: ['line', 'password', 'raw'] }),
    survivors: listOf(object({ pid: integer, command: text })),
    duration_ms: number,
    output: text,
    stdout: text,
    stderr: text,
    truncation: orNull(truncation),
    artifact: orNull(artifact),
    stderr_truncation: orNull(truncation),
    stderr_artifact: orNull(artifact),
    job_id: orNull(text),
    error: orNull(object({ code: text, message: text })),
    verdict: orNull(
      object({
        decision: { type: 'string', enum: ['allow', 'ask', 'redirect', 'deny'] },
        rule: orNull(text),
        reason: orNull(text),
        matched: orNull(text),
        suggested_tool: orNull(text),
      }),
    ),
    sandbox: object({
      mechanism: text,
      network: { type: 'string', enum: ['on', 'off'] },
      degraded: { type: 'boolean' },
    }),
    notices: listOf(text),
  },
  ['output', 'stdout', 'stderr', 'stderr_truncation', 'stderr_artifact', 'sandbox'],
)
