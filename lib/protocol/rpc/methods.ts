import * as shape from '../shape/shape.ts'
import {
  artifactInfoShape,
  linesShape,
  matchesShape,
  rawBytesShape,
  streamNames,
  boundParams,
  lineRangeParams,
} from '../result/reading.ts'
import { fields } from '../request/fields.ts'
import { limits } from '../limits.ts'
import { outcome, promptResult, resultShape, taskCounts, taskEnd } from '../result/result.ts'
import { verdictShape } from '../rules.ts'
import { sessionInfoShape } from '../ports.ts'
import { requestShape } from '../request/request.ts'
import { damagedRecords, shellMethods } from './shell-methods.ts'
import type { Wire } from '../wire.ts'

const { anyText, anything, boolean, choice, integer, list, nullable, number, object, text } = shape

/** The name of a message: JSON-RPC 2.0, section 4. */
export type RequestId = string | number | null

const requestId = shape.either(
  [anyText(), number(), shape.none],
  'a text, a number or null',
  'Of the request',
)
const artifactId = text('The id of the artifact', { hint: 'id' })
const conversation = text('Which conversation (default: the one of this connection)', {
  hint: 'id',
})

/** Every method of `--rpc`: what it takes and what it answers. */
export const rpcMethods = {
  initialize: {
    params: object(
      {},
      {
        client: anything<Record<string, unknown>>('Name and version of the client'),
        protocolVersion: anything('The version that the client speaks'),
        toolNames: list(anyText(), "Tools that the client's model has"),
        capabilities: object(
          {},
          { supportsApproval: boolean('The client answers `approval.request`') },
          { description: 'What the client can do', additionalProperties: true },
        ),
      },
      { additionalProperties: true },
    ),
    result: object({
      server: object({ name: anyText(), version: anyText() }),
      protocolVersion: integer(),
      capabilities: object({
        supportsShellExec: boolean(),
        supportsShellTasks: boolean(),
        supportsShellDetach: boolean(),
        supportsSessions: boolean(),
        supportsTools: boolean(),
        supportsArtifacts: boolean(),
        supportsPrompt: boolean(),
        supportsCancel: boolean(),
      }),
    }),
  },
  ...shellMethods,
  'session.open': {
    params: object(
      {},
      {
        name: text('Its name', { hint: 'name' }),
        ...shape.pick(fields, ['cwd', 'env', 'shell']),
      },
    ),
    result: sessionInfoShape,
  },
  'session.list': { params: object({}), result: object({ sessions: list(sessionInfoShape) }) },
  'session.close': {
    params: object({ name: text('Its name', { hint: 'name' }) }),
    result: object({ closed: boolean() }),
  },
  'tool.list': {
    params: object({}),
    result: object({
      tools: list(
        object({
          name: anyText(),
          title: anyText(),
          description: anyText(),
          inputSchema: anything<shape.ObjectSchema>(),
          readOnly: boolean(),
        }),
      ),
    }),
  },
  'tool.call': {
    params: object(
      { name: text('Which tool', { hint: 'name' }) },
      {
        arguments: shape.record(anything(), 'As its input_schema says'),
        stream: boolean('Send notifications while its command runs (default false)'),
      },
    ),
    result: object({
      content: list(object({ type: choice(['text']), text: anyText() })),
      isError: boolean(),
      details: anything(),
    }),
  },
  'artifact.read': { params: object({ id: artifactId }, lineRangeParams), result: linesShape },
  /** The bytes as the command wrote them. */
  'artifact.bytes': {
    params: object(
      { id: artifactId },
      {
        offset: integer('Bytes to pass over: next_offset of the answer before (default 0)'),
        limit: integer(
          `How many bytes (default ${limits.maxBytes}, at most ${limits.rawReadBytes})`,
          { minimum: 1 },
        ),
      },
    ),
    result: rawBytesShape,
  },
  'artifact.grep': {
    params: object(
      { id: artifactId, pattern: text('A regular expression', { hint: 'regex' }) },
      {
        context: integer('Lines around each match (default 0)'),
        ignoreCase: boolean('Take a for A (default false)'),
        offset: lineRangeParams.offset,
        limit: integer('How many matches (default 200)', { minimum: 1 }),
        maxLines: boundParams.maxLines,
        maxBytes: boundParams.maxBytes,
      },
    ),
    result: matchesShape,
  },
  'artifact.list': {
    params: object({}),
    result: object({ artifacts: list(artifactInfoShape) }, { damaged: damagedRecords }),
  },
  'artifact.remove': {
    params: object({ id: artifactId }),
    result: object({ removed: boolean() }),
  },
  /** `artifact.read` by the `…_cache_id` of a result. */
  tool_output_cache: { params: object({ refId: artifactId }, lineRangeParams), result: linesShape },
  /** `!command` runs it; anything else needs a model. */
  prompt: {
    params: object(
      { text: anyText('What is said') },
      {
        conversation,
        share: list(
          anyText(),
          'Runs and artifacts that the model may read from now on, by their ids',
        ),
        shareWrite: list(anyText(), 'Runs that it may read, write to and stop'),
      },
    ),
    /** Of a command its `result`, of anything else how the model has answered. */
    result: object({}, { disposition: choice(['handled']), result: resultShape, ...promptResult }),
  },
  /** Says something to a model that is at work; it hears it before its next step. */
  'prompt.steer': {
    params: object({ text: text('What is said') }, { conversation }),
    result: object({ steered: boolean() }),
  },
  /** Stops the prompt of a conversation, or every one of this connection. */
  'prompt.cancel': {
    params: object({}, { conversation }),
    result: object({ cancelled: integer() }),
  },
  /** Cancels a request of this connection by the id of its message. */
  '$/cancel': {
    params: object(
      { id: { ...requestId, description: 'Of the request to cancel' } },
      { interrupt: boolean('As Ctrl-C does: a command is ended by INT first (default false)') },
    ),
    result: object({ cancelled: boolean() }),
  },
} satisfies Record<string, { params: shape.ObjectShape; result: shape.ObjectShape }>

/**
 * What a nacre asks the one that holds its runs, over a socket of the two alone, and no client. `supervise` takes
 * a command through the executor of the holder; the answer is that of `Executor.run`.
 */
export const privateMethods = {
  supervise: {
    params: object(
      {
        id: text('The id that the run gets'),
        request: requestShape,
        supportsApproval: boolean('The caller answers `approval.request`'),
      },
      {
        cwd: anyText('Where relative directories begin, and a run of which nobody says where'),
        /** `FixedFolder`, which the caller has fixed. */
        workspace: object({ name: anyText(), path: anyText(), identity: anyText() }),
        atMost: object({ maxLines: integer(), maxBytes: integer() }),
      },
    ),
    result: resultShape,
  },
  /** The caller reads no more of what this run writes. */
  'supervise.close': { params: object({ id: text('The id of the run') }), result: object({}) },
  /** The caller waits no more: the run goes on as a job. */
  'supervise.detach': { params: object({ id: text('The id of the run') }), result: object({}) },
  /** Answered once the job of a killed nacre is held by the one that is asked. */
  'supervise.take_up': { params: object({ id: text('The id of the job') }), result: object({}) },
}

/** What the asked one tells meanwhile: every event of the run, with its bytes in base64. */
export const privateNotifications = { 'run.event': object({ event: anything() }) }

/** What the server tells without being asked. */
export const rpcNotifications = {
  'shell.started': object({
    id: anyText(),
    pid: nullable(integer()),
    command: anyText(),
    requestId,
  }),
  'shell.output': object({ id: anyText(), stream: choice(streamNames), data: anyText() }),
  /** Of an array: a task has ended, after its last try. `ended` of `total` have by now. */
  'shell.task': object({ id: anyText(), ...taskEnd, ...taskCounts }),
  'shell.exited': object(
    shape.pick(outcome, ['id', 'status', 'exitCode', 'signal', 'reason', 'durationMs']),
  ),
  /** What happens in a prompt, by the id of its message. */
  'prompt.event': object({
    requestId,
    event: anything<Record<string, unknown> & { type: string }>(),
  }),
}

/** What the server asks of the client. */
export const rpcClientMethods = {
  'approval.request': {
    params: object({ id: anyText(), command: anyText(), cwd: anyText(), verdict: verdictShape }),
    result: object({ approved: boolean() }),
  },
}

/** The messages of `--rpc` in the names of the wire, as TypeScript types; `methods.ts` declares them. */
export type MethodName = keyof typeof rpcMethods

/** Every method: what it takes and what it answers. */
export type RpcMethods = OnWire<typeof rpcMethods>

type OnWire<
  Methods extends Record<string, { params: shape.ObjectShape; result: shape.ObjectShape }>,
> = {
  [Name in keyof Methods]: {
    params: Wire<shape.Infer<Methods[Name]['params']>>
    result: Wire<shape.Infer<Methods[Name]['result']>>
  }
}

/** The same with what nacres ask each other. */
export interface AllMethods extends RpcMethods, OnWire<typeof privateMethods> {}

/** The answer to `shell.exec`. */
export type ShellExecResult = RpcMethods['shell.exec']['result']
/** A line of the list of jobs. */
export type JobSummary = RpcMethods['shell.list']['result']['jobs'][number]

/** What the server tells without being asked. */
export type RpcNotifications = {
  [Name in keyof typeof rpcNotifications]: Wire<shape.Infer<(typeof rpcNotifications)[Name]>>
}

/** The same with what nacres tell each other. */
export interface AllNotifications extends RpcNotifications {
  'run.event': shape.Infer<(typeof privateNotifications)['run.event']>
}

/** What the server asks of the client. */
export type ClientMethods = OnWire<typeof rpcClientMethods>

/** JSON-RPC 2.0, section 5.1, and what `data` adds. */
export interface RpcErrorObject {
  code: number
  message: string
  data?: { code: string; field?: string }
}

/** A line of either side is at most so long. */
export const maxLineBytes = 64 * 1024 * 1024
