import { setImmediate } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ErrorCode,
  JSONRPCMessageSchema,
  McpError,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
} from '@modelcontextprotocol/sdk/types.js'
import type { Tool, ToolContext } from '../../agent/tools/tool.ts'
import { describeTools, findTool } from '../../agent/tools/tools.ts'
import type { TextBounds } from '../../executor/executor.ts'
import { createReach, type Reach } from '../../executor/reach.ts'
import { whenAborted } from '../../protocol/deferred.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { interruption } from '../../protocol/ports.ts'
import { listenToText, type RunListener } from '../../protocol/result/event.ts'
import { check } from '../../protocol/shape/check.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { createId, version } from '../../protocol/wire.ts'
import { startOf } from '../../protocol/words.ts'
import { nowMs, settleWithin } from '../../system/clock.ts'
import { createConnection, receiveMessages } from '../../wire/connection.ts'
import { errorCodes } from '../../wire/messages.ts'
import type { DoorContext } from '../command.ts'
import type { Streams } from '../streams.ts'

/**
 * Clients give up on a call after 60 s: what takes longer goes on as a job before that, with time to
 * spare on a busy machine.
 */
const maxCallSeconds = 45
/**
 * Clients that cut longer answers of a tool themselves, by the names that they give, with the most that they
 * leave whole. There is room in it for the word on how the command ended and where the rest of its output is.
 */
const readableBy: Readonly<Record<string, TextBounds>> = {
  // Beyond 50,000 characters its model sees the first 2 KB and the name of a file.
  'claude-code': { maxLines: limits.maxLines, maxBytes: 49_000 },
  // Beyond 40,000 characters it leaves out the middle.
  'gemini-cli-mcp-client': { maxLines: limits.maxLines, maxBytes: 39_000 },
  // Beyond 48,000 bytes it leaves out the middle.
  'codex-mcp-client': { maxLines: limits.maxLines, maxBytes: 47_000 },
  // Beyond 2,000 lines or 50 KiB it leaves out the end.
  opencode: { maxLines: 1980, maxBytes: 50_000 },
}
/** How long a client that has gone silent may take to read what was answered. */
const flushMs = 2000

const instructions = [
  'bash runs a command line and answers with its output and how it ended.',
  `A command that is not done at its deadline (${limits.timeoutSeconds.default} s) or after ${maxCallSeconds} s, or is started with mode "background", goes on as a job: the answer names its id; bash_job reads it, waits for it, writes to it and stops it.`,
  'Output that is too long is cut, and kept whole: the answer names an id; artifact reads and searches it. Do not run the command again for that.',
].join('\n')

export interface McpContext extends DoorContext {
  /** Where commands run unless they say otherwise. */
  cwd: string
  /** Results are sent as data too. */
  isStructured: boolean
}

/** Serves one client until its end of input; gives the exit status. */
export async function serveMcp(context: McpContext): Promise<number> {
  const { executor, streams, signal } = context
  const server = new Server(
    { name: 'nacre', title: 'nacre', version },
    { capabilities: { tools: {}, resources: {} }, instructions },
  )
  const methods = createMethods(context, () => server.getClientVersion()?.name ?? '')
  const underWay = new Set<Promise<ServerResult>>()
  // Not by the schemas of the SDK: what they refuse would be a fault of the server (-32603).
  server.fallbackRequestHandler = ({ method, params = {} }, call) => {
    const answer = perform(methods[method], params, call)
    underWay.add(answer)
    return answer.finally(() => underWay.delete(answer))
  }
  /** Settles when every call has been answered. */
  async function idle(): Promise<void> {
    while (underWay.size > 0) await Promise.allSettled(underWay)
    await setImmediate()
  }

  const connection = createConnection(streams.stdout)
  const { transport, ended } = createTransport(streams, connection)
  await server.connect(transport)
  const stopped = Promise.race([whenAborted(signal), connection.gone])
  await Promise.race([ended, stopped])
  await settleWithin(limits.endOfInputMs.mcp, Promise.race([idle(), stopped]))
  // What is stopped here is answered too.
  await executor.close({ interrupt: signal.reason === interruption })
  const told = idle().then(() => connection.end())
  await settleWithin(flushMs, Promise.race([told, connection.gone]))
  await server.close()
  streams.stdin.pause()
  return 0
}

/** The protocol on standard input and output; `ended` settles at the end of the input. */
function createTransport({ stdin }: Streams, connection: ReturnType<typeof createConnection>) {
  const toLine = (message: object) => `${JSON.stringify(message)}\n`
  const transport: Transport = {
    start: async () => undefined,
    // A slow reader holds up whoever sends.
    send: async (message) => void (await connection.stream(toLine(message))),
    close: async () => undefined,
  }
  const refuse = (code: number, message: string) =>
    connection.send(toLine({ jsonrpc: '2.0', id: null, error: { code, message } }))
  const ended = receiveMessages(stdin, connection, {
    receive(value) {
      const message = JSONRPCMessageSchema.safeParse(value)
      if (message.success) transport.onmessage?.(message.data)
      else refuse(errorCodes.invalidRequest, 'Not a message of JSON-RPC 2.0')
    },
    refuse: (why) => refuse(errorCodes.parse, why),
  })
  return { transport, ended }
}

type Call = RequestHandlerExtra<ServerRequest, ServerNotification>
type Method = (params: Record<string, unknown>, call: Call) => Promise<ServerResult>

async function perform(
  method: Method | undefined,
  params: Record<string, unknown>,
  call: Call,
): Promise<ServerResult> {
  if (!method) throw new McpError(ErrorCode.MethodNotFound, 'Method not found')
  try {
    return await method(params, call)
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw new McpError(ErrorCode.InvalidParams, error.message, { code: error.code })
  }
}

const callParams = shape.object(
  { name: shape.text() },
  // Null if a model gave none.
  { arguments: shape.nullable(shape.record(shape.anything())) },
  { additionalProperties: true },
)
const readParams = shape.object({ uri: shape.text() }, {}, { additionalProperties: true })

function createMethods(
  { executor, cwd, isStructured }: McpContext,
  clientName: () => string,
): Readonly<Record<string, Method>> {
  // No person speaks to the model here who could hand something to it.
  const reach = createReach(executor, createId('connection'))
  return {
    'tools/list': async () => ({
      tools: describeTools(cwd, executor, { origin: 'mcp' }).map(({ readOnly, ...tool }) => ({
        ...tool,
        annotations: {
          title: tool.title,
          readOnlyHint: readOnly,
          destructiveHint: !readOnly,
          idempotentHint: readOnly,
          openWorldHint: !readOnly,
        },
      })),
    }),
    async 'tools/call'(params, call) {
      const { name, arguments: given } = check(callParams, params, 'params', { names: 'code' })
      const { details, ...answer } = await callTool(findTool(name), given ?? {}, {
        executor: reach,
        origin: 'mcp',
        signal: call.signal,
        exitIsResult: true,
        maxWaitSeconds: maxCallSeconds,
        onEvent: createProgress(call),
        atMost: readableBy[clientName()],
      })
      return isStructured ? { ...answer, structuredContent: withoutEmpty(details) } : answer
    },
    'resources/list': async () => ({ resources: await listArtifacts(reach) }),
    'resources/templates/list': async () => ({ resourceTemplates: [artifactTemplate] }),
    async 'resources/read'(params) {
      const { uri } = check(readParams, params, 'params', { names: 'code' })
      return { contents: [{ uri, mimeType, text: await readArtifact(uri, reach) }] }
    },
  }
}

/** Wrong arguments are for the model to mend, so they are an answer, not an error of the protocol. */
async function callTool(tool: Tool, given: unknown, context: ToolContext) {
  try {
    const { content, isError, details } = await tool.call(given, context)
    return { content, isError, details: details as Record<string, unknown> }
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    const { code, message, field } = error
    const details = { error: { code, message, field } }
    return { content: [{ type: 'text' as const, text: message }], isError: true, details }
  }
}

/** A result without the fields that say nothing. */
function withoutEmpty(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isEmpty = (value: unknown) => value === null || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(details).filter(([, value]) => !isEmpty(value)))
}

/** Output is told this far apart at the least; what comes between goes with the next. */
const everyMs = 100
/** A message has so many characters, those of the newest output. */
const maxChars = 4000

/** Tells a client that asks for it of live output, so that it neither waits in the dark nor gives up. */
function createProgress({ _meta, sendNotification }: Call): RunListener | undefined {
  const progressToken = _meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  let text = ''
  let sentAtMs = -Infinity
  return listenToText(async (event) => {
    if (event.type === 'output') {
      progress += event.data.length
      text = (text + event.data).slice(-maxChars)
    }
    if (text === '' || (event.type !== 'exited' && nowMs() - sentAtMs < everyMs)) return
    const params = { progressToken, progress, message: text }
    text = ''
    sentAtMs = nowMs()
    await sendNotification({ method: 'notifications/progress', params })
  })
}

const mimeType = 'text/plain'

const artifactTemplate = {
  name: 'artifact',
  title: 'Complete output of a command',
  uriTemplate: 'artifact://{id}',
  mimeType,
}

/** What earlier runs of this connection left, newest first. */
async function listArtifacts({ artifacts }: Reach) {
  const list = (await artifacts?.list()) ?? []
  return list.map(({ id, uri, command, bytes, createdAt }) => ({
    uri,
    name: id,
    title: startOf(command, 80),
    description: `Output of \`${command}\`, ${createdAt}`,
    size: bytes,
    mimeType,
  }))
}

/** The beginning of an artifact as clean text; the tool artifact reads the rest. */
async function readArtifact(uri: string, { artifacts }: Reach): Promise<string> {
  if (artifacts === null) {
    throw new MisuseError('not_found', 'No output is kept here: there is no state folder', 'uri')
  }
  const { text, line, column } = await artifacts.read(uri)
  if (line === null) return text
  return `${text}\n[to go on, call the tool artifact with line ${line}, column ${column}]\n`
}
