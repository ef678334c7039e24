import { fields, subjects } from '../request/fields.ts'
import { limits } from '../limits.ts'
import { jobEntryShape, jobFilter, jobOutputShape, readingParams } from '../result/reading.ts'
import {
  failureShape,
  outcome,
  resultShape,
  sandboxUseShape,
  taskEnd,
  waitedShape,
} from '../result/result.ts'
import { verdictShape } from '../rules.ts'
import * as shape from '../shape/shape.ts'

const { anyText, boolean, choice, list, object, seconds, text } = shape

const id = text('The id of the run', { hint: 'id' })
const { mode: _, ...runFields } = fields
const stream = boolean('Send notifications while it runs (default false)')
const stdin = anyText('What the command reads (default: nothing)')
const { default: execSeconds, max: maxExecSeconds } = limits.shellExecTimeoutSeconds
/** Files of records that cannot be read, so that the list is without them; absent where there are none. */
export const damagedRecords = list(anyText(), 'Files of records that cannot be read')
const nothing = object({})

/** Running commands and looking after jobs: what each method takes and what it answers. */
export const shellMethods = {
  'shell.exec': {
    params: object(
      {},
      {
        ...subjects,
        ...runFields,
        stream,
        stdin,
        timeoutSeconds: seconds(`Stop the run after so many seconds (default ${execSeconds})`, {
          exclusiveMinimum: 0,
          maximum: maxExecSeconds,
        }),
      },
    ),
    result: object(
      {
        ...shape.pick(outcome, ['id', 'exitCode', 'signal', 'durationMs', 'status', 'reason']),
        stdout: anyText(),
        stderr: anyText(),
        truncated: object({ stdout: boolean(), stderr: boolean(), combined: boolean() }),
        /** The first 400 characters of the command. */
        commandPreview: anyText('', { maxLength: limits.commandPreviewChars }),
      },
      {
        /** Where the complete raw output is kept, when it did not fit. */
        stdoutCacheId: anyText(),
        stderrCacheId: anyText(),
        /** When it goes on as a job. */
        jobId: anyText(),
        /** When it did not start. */
        error: failureShape,
        /** When the guard denied it. */
        verdict: verdictShape,
        /** When one was asked for. */
        sandbox: sandboxUseShape,
        /** Short sentences for the reader; absent when there are none. */
        notices: list(anyText()),
      },
    ),
  },
  'shell.start': {
    params: object({}, { ...subjects, ...runFields, stream, stdin }),
    result: resultShape,
  },
  'shell.status': { params: object({ id }), result: resultShape },
  /** The jobs of every nacre of this user. */
  'shell.list': {
    params: object({}, jobFilter),
    result: object({ jobs: list(jobEntryShape) }, { damaged: damagedRecords }),
  },
  /** The tasks of an array that have ended, in the order of their numbers. */
  'shell.tasks': {
    params: object({ id }),
    result: object({ tasks: list(object(taskEnd)) }),
  },
  'shell.output': { params: object({ id }, readingParams), result: jobOutputShape },
  /**
   * Answered with the result of the job that is named. For several, `jobs` has the results of all, and
   * the rest is that of the first that has ended.
   */
  'shell.wait': {
    params: object(
      {},
      {
        id,
        ids: list(anyText(), 'The ids of several runs, in place of `id`'),
        any: boolean('Of several: wait for the first end, not for all (default false)'),
        ready: fields.ready,
        timeoutSeconds: seconds(`Wait at most so long (default ${limits.jobWaitSeconds})`, {
          exclusiveMinimum: 0,
          maximum: limits.jobWaitSeconds,
        }),
      },
    ),
    result: waitedShape,
  },
  /** Follows a job from now on by `shell.output` and `shell.exited`; answered like `shell.wait`. */
  'shell.attach': { params: object({ id }), result: resultShape },
  /** Ends what waits on this connection for the run: `shell.exec`, `shell.wait`, `shell.attach`. */
  'shell.detach': { params: object({ id }), result: resultShape },
  'shell.cancel': {
    params: object(
      { id },
      { reason: choice(['cancel', 'kill', 'timeout'], 'What its result says (default cancel)') },
    ),
    result: resultShape,
  },
  /** Answered when the job has taken what was sent. */
  'shell.input': {
    params: object(
      { id },
      {
        data: anyText('What is typed'),
        end: boolean('Nothing more will come: the end of its input (default false)'),
      },
    ),
    result: nothing,
  },
  'shell.resize': {
    params: object({ id, columns: fields.columns, rows: fields.rows }),
    result: nothing,
  },
} satisfies Record<string, { params: shape.ObjectShape; result: shape.ObjectShape }>
