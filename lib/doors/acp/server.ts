import { Readable } from 'node:stream'
import {
  agent as createApp,
  type AgentContext,
  type ContentBlock,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk'
import { type Agent, createAgent } from '../../agent/agent.ts'
import type { AgentEvent } from '../../agent/events.ts'
import type { Message } from '../../agent/models/model.ts'
import type { AgentSettings } from '../../agent/session.ts'
import type { Approve } from '../../executor/executor.ts'
import { whenAborted } from '../../protocol/deferred.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import { listenToText } from '../../protocol/result/event.ts'
import type { PromptResult } from '../../protocol/result/result.ts'
import { createId, version } from '../../protocol/wire.ts'
import { isFailure, renderForModel } from '../../render/model.ts'
import { nowMs } from '../../system/clock.ts'
import { openApprovals } from '../approvals.ts'
import type { CommandContext, DoorContext } from '../command.ts'

/** Serves one editor until its end of input; gives the exit status. */
export async function serveAcp(
  context: DoorContext & Pick<CommandContext, 'stateDir'>,
  settings: AgentSettings,
): Promise<number> {
  const { executor, streams, signal } = context
  const agent = createAgent(executor, settings)
  const sessions = new Map<string, AcpSession>()

  function open(client: AgentContext, cwd: string, resume: string | null): AcpSession {
    const session = openSession(agent, context, client, cwd, resume)
    sessions.set(session.id, session)
    return session
  }

  const app = createApp({ name: 'nacre' })
    .onRequest(methods.agent.initialize, ({ params }) => ({
      protocolVersion: Math.min(params.protocolVersion, PROTOCOL_VERSION),
      agentInfo: { name: 'nacre', title: 'nacre', version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: false, audio: false, embeddedContext: true },
        sessionCapabilities: { list: {} },
      },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, ({ params, client }) =>
      asProtocolError(() => ({ sessionId: open(client, params.cwd, null).id })),
    )
    .onRequest(methods.agent.session.load, ({ params, client }) =>
      asProtocolError(async () => {
        await open(client, params.cwd, params.sessionId).replay()
        return {}
      }),
    )
    .onRequest(methods.agent.session.list, ({ params }) => ({
      sessions: agent.conversations
        .list()
        .filter(({ cwd }) => typeof params.cwd !== 'string' || cwd === params.cwd)
        .map(({ id, cwd, title, updatedAt }) => ({ sessionId: id, cwd, title, updatedAt })),
    }))
    .onRequest(methods.agent.session.prompt, ({ params, signal }) =>
      asProtocolError(async () => {
        const session = sessions.get(params.sessionId)
        if (!session) {
          const why = `There is no session \`${params.sessionId}\`; make or load one`
          throw new MisuseError('not_found', why)
        }
        const typed = params.prompt.filter(({ type }) => type === 'text')
        const [text, words] = [params.prompt, typed].map(readBlocks) as [string, string]
        return { stopReason: await session.prompt(text, words, signal) }
      }),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      sessions.get(params.sessionId)?.cancel()
    })

  const output = new WritableStream<Uint8Array>({
    write: async (bytes) => void (await streams.stdout.write(bytes)),
  })
  const input = Readable.toWeb(streams.stdin) as ReadableStream<Uint8Array>
  const connection = app.connect(ndJsonStream(output, input))
  await Promise.race([connection.closed, whenAborted(signal)])
  for (const session of sessions.values()) session.cancel(signal.reason)
  connection.close()
  return 0
}

/** How a prompt ended, as the protocol tells it; a failure is an error of the request. */
function endOf({ status, error }: PromptResult): StopReason {
  switch (status) {
    case 'answered':
      return 'end_turn'
    case 'cancelled':
      return 'cancelled'
    case 'limit':
      return 'max_turn_requests'
    case 'failed':
      if (error?.code === 'refused') return 'refusal'
      throw RequestError.internalError({ code: error?.code }, error?.message)
  }
}

/** What an editor sends along: texts, files by their text, files by their name. */
const readBlocks = (blocks: readonly ContentBlock[]) => blocks.map(readBlock).join('')

function readBlock(block: ContentBlock): string {
  if (block.type === 'text') return block.text
  if (block.type === 'resource_link') return block.uri
  if (block.type !== 'resource') {
    throw new MisuseError('invalid_field', `A prompt cannot hold ${block.type} here`, 'prompt')
  }
  const { resource } = block
  if (!('text' in resource)) return resource.uri
  return `\n<file uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</file>\n`
}

async function asProtocolError<Value>(act: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw RequestError.invalidParams({ code: error.code }, error.message)
  }
}

/** One session of an editor: a conversation, told in the words of the protocol. */
type AcpSession = ReturnType<typeof openSession>

/** Each update repeats the output of a command so far, up to so many characters. */
const shownChars = 20_000
/** Output is told this far apart at the least. */
const everyMs = 100

/** `resume`: the conversation to go on with. Throws `MisuseError` if there is none of this id. */
function openSession(
  agent: Agent,
  { executor, stateDir }: Parameters<typeof serveAcp>[0],
  client: AgentContext,
  cwd: string,
  resume: string | null,
) {
  /** Calls under way; `toldAtMs` is when their output was told last, on the monotonic clock. */
  const calls = new Map<string, { command: string; output: string; toldAtMs: number }>()
  const session = agent.open({ resume, cwd, approve })
  const { id } = session.conversation
  const { workspace } = session
  let running: AbortController | null = null
  session.listen(tell)
  const approvals = openApprovals(stateDir, (problem) => {
    void tell({ type: 'notice', message: problem })
  })

  async function update(update: SessionUpdate): Promise<void> {
    await client.notify(methods.client.session.update, { sessionId: id, update })
  }

  async function approve(...[request, verdict]: Parameters<Approve>): Promise<boolean> {
    if (approvals.covers(verdict)) return true
    const lasting = verdict.prefixes ?? []
    const call = [...calls].find(([, { command }]) => command.includes(request.command))
    const asked: RequestPermissionRequest = {
      sessionId: id,
      toolCall: {
        toolCallId: call?.[0] ?? request.id,
        title: request.command,
        kind: 'execute',
        status: 'pending',
        content: asContent(verdict.reason ?? ''),
      },
      options: [
        { optionId: 'allow', name: 'Run it', kind: 'allow_once' },
        ...(lasting.length === 0
          ? []
          : [
              {
                optionId: 'always',
                name: `Always allow ${lasting.map((prefix) => `\`${prefix} …\``).join(', ')}`,
                kind: 'allow_always' as const,
              },
            ]),
        { optionId: 'reject', name: 'Do not run it', kind: 'reject_once' },
      ],
    }
    const { outcome } = await client.request(methods.client.session.requestPermission, asked)
    if (outcome.outcome !== 'selected' || outcome.optionId === 'reject') return false
    if (outcome.optionId === 'always') approvals.add(lasting)
    return outcome.optionId === 'allow' || outcome.optionId === 'always'
  }

  async function tell(event: AgentEvent): Promise<void> {
    switch (event.type) {
      case 'text':
        return update({ sessionUpdate: 'agent_message_chunk', content: asText(event.text) })
      case 'reasoning':
        return update({ sessionUpdate: 'agent_thought_chunk', content: asText(event.text) })
      case 'tool_call':
        return beginCall(event.id, event.name, event.arguments)
      case 'tool_output':
        return addOutput(event.id, event.data)
      case 'tool_result':
        return endCall(event.id, event.reply.text, event.reply.isError)
      case 'notice':
      case 'retry': {
        const text = event.type === 'retry' ? `${event.message}; trying again` : event.message
        return update({ sessionUpdate: 'agent_thought_chunk', content: asText(`${text}\n`) })
      }
      default:
        return undefined
    }
  }

  async function beginCall(
    toolCallId: string,
    name: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const command = typeof given['command'] === 'string' ? given['command'] : ''
    calls.set(toolCallId, { command, output: '', toldAtMs: 0 })
    await update({
      sessionUpdate: 'tool_call',
      toolCallId,
      title: command === '' ? `${name} ${JSON.stringify(given)}`.slice(0, 200) : command,
      kind: name === 'bash' ? 'execute' : name === 'artifact' ? 'read' : 'other',
      status: 'in_progress',
      rawInput: given,
    })
  }

  async function addOutput(toolCallId: string, data: string): Promise<void> {
    const call = calls.get(toolCallId)
    if (!call) return
    call.output = (call.output + data).slice(-shownChars)
    const now = nowMs()
    if (now - call.toldAtMs < everyMs) return
    call.toldAtMs = now
    const content = asContent(call.output)
    await update({ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress', content })
  }

  async function endCall(toolCallId: string, text: string, isError: boolean): Promise<void> {
    calls.delete(toolCallId)
    const status = isError ? 'failed' : 'completed'
    const content = asContent(text)
    await update({ sessionUpdate: 'tool_call_update', toolCallId, status, content })
  }

  async function tellMessage(message: Message): Promise<void> {
    switch (message.role) {
      case 'user':
        return update({ sessionUpdate: 'user_message_chunk', content: asText(message.text) })
      case 'assistant':
        for (const part of message.parts) {
          if (part.type === 'tool_call') await beginCall(part.id, part.name, part.input ?? {})
          else await tell(part)
        }
        return undefined
      case 'tool':
        for (const { callId, text, isError } of message.replies)
          await endCall(callId, text, isError)
    }
  }

  async function run(command: string, injected: boolean, signal: AbortSignal): Promise<StopReason> {
    const stop = new AbortController()
    running = stop
    try {
      const toolCallId = createId('command')
      await beginCall(toolCallId, 'bash', { command })
      const result = await executor.run(
        { command, origin: 'rpc', streams: 'merged', cwd, workspace, timeoutSeconds: 0 },
        {
          signal: AbortSignal.any([signal, stop.signal]),
          approve,
          onEvent: listenToText((event) =>
            event.type === 'output' ? addOutput(toolCallId, event.data) : undefined,
          ),
        },
      )
      await endCall(toolCallId, renderForModel(result), isFailure(result))
      if (injected) await session.commands.add(result)
      return result.reason === 'cancel' ? 'cancelled' : 'end_turn'
    } finally {
      running = null
    }
  }

  return {
    id,
    /** Answers a prompt, or runs the command that it is; gives how it ended. */
    async prompt(text: string, typed: string, signal: AbortSignal): Promise<StopReason> {
      const prompt = parsePrompt(text)
      if (prompt.kind === 'command') return run(prompt.command, prompt.injected, signal)
      return endOf(await session.prompt(text.trim(), { signal, typed }))
    },
    cancel(reason?: unknown): void {
      running?.abort(reason)
      session.cancel()
    },
    /** Tells everything that was said so far. */
    async replay(): Promise<void> {
      for (const message of session.conversation.messages) await tellMessage(message)
    },
  }
}

function asText(text: string) {
  return { type: 'text' as const, text }
}

function asContent(text: string) {
  return [{ type: 'content' as const, content: asText(text) }]
}
