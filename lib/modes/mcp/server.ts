import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  type ListToolsResult,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Tool } from '../../agent/tools/tool.ts'
import { findTool, tools } from '../../agent/tools/tools.ts'
import type { Executor } from '../../executor/executor.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { resultShape } from '../../protocol/result.ts'
import { objectSchema } from '../../protocol/shape/json-schema.ts'
import type { Streams } from '../streams.ts'
import { createProgress } from './progress.ts'
import { artifactTemplate, listArtifacts, readArtifact } from './resources.ts'
import { createStdioTransport } from './transport.ts'

/** Clients give up on a call after 60 s: what takes longer goes on as a job before that. */
export const maxCallSeconds = 50

export interface McpContext {
  executor: Executor
  streams: Streams
  /** Aborts when a signal ends nacre. */
  signal: AbortSignal
  /** Where commands run unless they say otherwise. */
  cwd: string
  version: string
  maxWaitSeconds?: number
}

/** Serves one client until its end of input; gives the exit status. */
export async function serveMcp(context: McpContext): Promise<number> {
  const { executor, streams, signal, cwd, version } = context
  const server = new Server(
    { name: 'nacre', title: 'nacre', version },
    { capabilities: { tools: {}, resources: {} } },
  )

  server.setRequestHandler(ListToolsRequestSchema, () => describeTools(cwd))
  server.setRequestHandler(ListResourcesRequestSchema, () => listArtifacts(executor))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [artifactTemplate],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
    asProtocolError(() => readArtifact(params.uri, executor)),
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
    return callTool(tool, params.arguments ?? {}, {
      executor,
      origin: 'mcp',
      signal: call.signal,
      maxWaitSeconds: context.maxWaitSeconds ?? maxCallSeconds,
      ...(onEvent && { onEvent }),
    })
  })

  const ended = new Promise<void>((resolve) => {
    server.onclose = resolve
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  await server.connect(createStdioTransport(streams))
  await ended
  await server.close()
  return 0
}

function describeTools(cwd: string): ListToolsResult {
  return {
    tools: tools.map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: tool.description(cwd),
      inputSchema: tool.inputSchema,
      ...(tool.name === 'bash' ? { outputSchema: objectSchema(resultShape) } : {}),
      annotations: {
        title: tool.title,
        readOnlyHint: tool.readOnly,
        destructiveHint: !tool.readOnly,
        idempotentHint: tool.readOnly,
        openWorldHint: !tool.readOnly,
      },
    })),
  }
}

/** Wrong arguments are for the model to mend, so they are an answer, not an error of the protocol. */
async function callTool(
  tool: Tool,
  given: unknown,
  context: Parameters<Tool['call']>[1],
): Promise<CallToolResult> {
  try {
    const { content, isError, details } = await tool.call(given, context)
    return { content, isError, structuredContent: details as Record<string, unknown> }
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    return { content: [{ type: 'text', text: error.message }], isError: true }
  }
}

async function asProtocolError<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw new McpError(ErrorCode.InvalidParams, error.message, { code: error.code })
  }
}
