import { origins } from './request.ts'
import { count, flag, list, milliseconds, object, oneOf, orNull, text } from './schema.ts'

export const statusSchema = oneOf(
  'exited',
  'signaled',
  'stopped',
  'running',
  'denied',
  'not_started',
)
export const reasonSchema = orNull(
  oneOf('timeout', 'inactivity', 'cancel', 'kill', 'shutdown', 'output_limit'),
)
export const streamSchema = oneOf('output', 'stdout', 'stderr')
export const failureSchema = object({ code: text, message: text })
export const verdictSchema = object({
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
  origin: oneOf(...origins),
  command: text,
  cwd: text,
  status: statusSchema,
  exit_code: orNull({ type: 'integer' }),
  signal: orNull(text),
  reason: reasonSchema,
  exit_meaning: orNull(text),
  pipe_status: orNull(list({ type: 'integer' })),
  waiting_for_input: orNull(oneOf('line', 'password', 'raw')),
  survivors: list(object({ pid: count, command: text })),
  duration_ms: milliseconds,
  truncation: orNull(truncation),
  artifact: orNull(artifact),
  job_id: orNull(text),
  error: orNull(failureSchema),
  verdict: orNull(verdictSchema),
  notices: list(text),
}
const jobOptional = {
  stderr_truncation: orNull(truncation),
  stderr_artifact: orNull(artifact),
  sandbox: object({ mechanism: text, network: oneOf('on', 'off'), degraded: flag }),
}
/** A result in the names of the wire; `result.ts` says what each field means. */
export const resultSchema = object(job, {
  ...jobOptional,
  output: text,
  stdout: text,
  stderr: text,
})

/** A result without its texts, as a list of jobs has it. */
export const jobSchema = object(job, jobOptional)
