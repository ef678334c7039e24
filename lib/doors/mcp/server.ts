import { setTimeout as delay } from 'node:timers/promises'
import { whenAborted } from '../../protocol/deferred.ts'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  InitializeRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  type ListToolsResult,
  McpError,
  ReadResourceRequestSchema,
  type ListResourcesResult,
  type ReadResourceResult,
} from '@modelcontextprotocol/sdk/types.js'
import type { Tool, ToolContext, ToolResult } from '../../agent/tools/tool.ts'
import { describeTools, findTool } from '../../agent/tools/tools.ts'
import type { Executor, TextBounds } from '../../executor/executor.ts'
import { createReach, type Reach } from '../../executor/reach.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { createId } from '../../protocol/wire.ts'
import { limits } from '../../protocol/limits.ts'
import { interruption } from '../../protocol/ports.ts'
import type { Streams } from '../streams.ts'
import { createStdioTransport, type FindWrong } from './transport.ts'
import { StringDecoder } from 'node:string_decoder'
import { nowMs } from '../../system/clock.ts'
import type { RunListener } from '../../protocol/result/event.ts'
import { startOf } from '../../protocol/words.ts'

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
/** Of a wait: once what it is for has come, it does not keep nacre from its end. */
const unheld = { ref: false }

const instructions = [
  'bash runs a command line and answers with its output and how it ended.',
  `A command that is not done at its deadline (${limits.timeoutSeconds.default} s) or after ${maxCallSeconds} s, or is started with mode "background", goes on as a job: the answer names its id; bash_job reads it, waits for it, writes to it and stops it.`,
  'Output that is too long is cut, and kept whole: the answer names an id; artifact reads and searches it. Do not run the command again for that.',
].join('\n')

export interface McpContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  /** Where commands run unless they say otherwise. */
  cwd: string
  version: string
  /** Results are sent as data too. */
  isStructured: boolean
}

/** Serves one client until its end of input; gives the exit status. */
export async function serveMcp(context: McpContext): Promise<number> {
  const { executor, streams, signal, cwd, version, isStructured } = context
  // No person speaks to the model here who could hand something to it.
  const reach = createReach(executor, createId('connection'))
  const server = new Server(
    { name: 'nacre', title: 'nacre', version },
    { capabilities: { tools: {}, resources: {} }, instructions },
  )

  server.setRequestHandler(ListToolsRequestSchema, () => listTools(cwd, executor))
  server.setRequestHandler(ListResourcesRequestSchema, () => listArtifacts(reach))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [artifactTemplate],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
    asProtocolError(() => readArtifact(params.uri, reach)),
  )
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, call) => {
    const tool = await asProtocolError(async () => findTool(params.name))
    const token = call._meta?.progressToken
    const onEvent =
      token === undefined
        ? undefined
        : createProgress((progress) =>
            call.sendNotification({
              method: 'notifications/progress',
              params: { progressToken: token, ...progress },
            }),
          )
    const { details, ...answer } = await callTool(tool, params.arguments ?? {}, {
      executor: reach,
      origin: 'mcp',
      signal: call.signal,
      exitIsResult: true,
      maxWaitSeconds: maxCallSeconds,
      onEvent,
      atMost: readableBy[server.getClientVersion()?.name ?? ''],
    })
    return isStructured ? { ...answer, structuredContent: withoutEmpty(details) } : answer
  })

  const stopped = whenAborted(signal)
  const transport = createStdioTransport(streams, findWrong)
  await server.connect(transport)
  await Promise.race([transport.ended, stopped])
  const over = Promise.race([transport.gone, stopped])
  await Promise.race([transport.idle(), over, delay(limits.endOfInputMs.mcp, null, unheld)])
  // What is stopped here is answered too.
  await executor.close({ interrupt: signal.reason === interruption })
  await Promise.race([transport.idle(), transport.gone, delay(flushMs, null, unheld)])
  await Promise.race([server.close(), transport.gone, delay(flushMs, null, unheld)])
  return 0
}

/** The SDK would answer these as a fault of its own (-32603). */
const handled = [
  InitializeRequestSchema,
  ListToolsRequestSchema,
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ReadResourceRequestSchema,
]

const findWrong: FindWrong = (request) => {
  const { method, params } = request
  // So do clients whose model gave none.
  if (method === 'tools/call' && params?.['arguments'] === null) delete params['arguments']
  const schema = handled.find(({ shape }) => shape.method.value === method)
  const [issue] = schema?.safeParse(request).error?.issues ?? []
  return issue ? `\`${issue.path.join('.')}\`: ${issue.message}` : null
}

function listTools(cwd: string, executor: Executor): ListToolsResult {
  return {
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
  }
}

interface Answer {
  content: ToolResult['content']
  isError: boolean
  details: Record<string, unknown>
}

/** Wrong arguments are for the model to mend, so they are an answer, not an error of the protocol. */
async function callTool(tool: Tool, given: unknown, context: ToolContext): Promise<Answer> {
  try {
    const { content, isError, details } = await tool.call(given, context)
    return { content, isError, details: details as Record<string, unknown> }
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    const { code, message, field } = error
    const details = { error: { code, message, field } }
    return { content: [{ type: 'text', text: message }], isError: true, details }
  }
}

/** A result without the fields that say nothing. */
function withoutEmpty(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isEmpty = (value: unknown) => value === null || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(details).filter(([, value]) => !isEmpty(value)))
}

async function asProtocolError<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw new McpError(ErrorCode.InvalidParams, error.message, { code: error.code })
  }
}

/** Output is told this far apart at the least; what comes between goes with the next. */
const everyMs = 100
/** A message has so many characters, those of the newest output. */
const maxChars = 4000

interface Progress {
  /** How many bytes of output have come so far. */
  progress: number
  /** What came since the last one. */
  message: string
}

/** Tells a client of live output while a call runs, so that it neither waits in the dark nor gives up. */
function createProgress(send: (progress: Progress) => Promise<void>): RunListener {
  const decoder = new StringDecoder('utf8')
  let bytes = 0
  let text = ''
  let sentAtMs = -Infinity

  return async (event) => {
    if (event.type === 'output') {
      bytes += event.bytes.length
      text = (text + decoder.write(Buffer.from(event.bytes))).slice(-maxChars)
    }
    const due = event.type === 'exited' || nowMs() - sentAtMs >= everyMs
    if (text === '' || !due) return
    const message = text
    text = ''
    sentAtMs = nowMs()
    await send({ progress: bytes, message })
  }
}

const mimeType = 'text/plain'

const artifactTemplate = {
  name: 'artifact',
  title: 'Complete output of a command',
  uriTemplate: 'artifact://{id}',
  mimeType,
}

/** What earlier runs of this connection left, newest first. */
async function listArtifacts({ artifacts }: Reach): Promise<ListResourcesResult> {
  const list = (await artifacts?.list()) ?? []
  return {
    resources: list.map(({ id, uri, command, bytes, createdAt }) => ({
      uri,
      name: id,
      title: startOf(command, 80),
      description: `Output of \`${command}\`, ${createdAt}`,
      size: bytes,
      mimeType,
    })),
  }
}

/** The beginning of an artifact as clean text; the tool artifact reads the rest. */
async function readArtifact(uri: string, { artifacts }: Reach): Promise<ReadResourceResult> {
  if (artifacts === null) {
    throw new MisuseError('not_found', 'No output is kept here: there is no state folder', 'uri')
  }
  const { text, line, column } = await artifacts.read(uri)
  const more =
    line === null
      ? ''
      : `\n[to go on, call the tool artifact with line ${line}, column ${column}]\n`
  return { contents: [{ uri, mimeType, text: text + more }] }
}
