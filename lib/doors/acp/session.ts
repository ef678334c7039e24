import { listenToText } from '../../protocol/result/event.ts'
import {
  type AgentContext,
  methods,
  type RequestPermissionRequest,
  type SessionUpdate,
  type ToolKind,
} from '@agentclientprotocol/sdk'
import { nowMs } from '../../system/clock.ts'
import type { Agent } from '../../agent/agent.ts'
import type { PromptResult } from '../../protocol/result/result.ts'
import type { AgentEvent } from '../../agent/events.ts'
import type { Message } from '../../agent/models/model.ts'
import type { Approve, Executor } from '../../executor/executor.ts'
import { isFailure, renderForModel } from '../../render/model.ts'

export type Client = AgentContext

/** One session of an editor: a conversation, told in the words of the protocol. */
export interface AcpSession {
  readonly id: string
  prompt(text: string, signal: AbortSignal): Promise<PromptResult>
  /** Runs a person's own command. True: it was cancelled. */
  run(command: string, injected: boolean, signal: AbortSignal): Promise<boolean>
  cancel(reason?: unknown): void
  /** Tells everything that was said so far. */
  replay(): Promise<void>
}

export interface AcpSessionParts {
  agent: Agent
  executor: Executor
  client: Client
  cwd: string
  /** The conversation to go on with. */
  resume: string | null
}

/** Each update repeats the output of a command so far, up to so many characters. */
const shownChars = 20_000
/** Output is told this far apart at the least. */
const everyMs = 100

/** Throws `MisuseError` where there is no such conversation. */
export function openSession({ agent, executor, client, cwd, resume }: AcpSessionParts): AcpSession {
  const calls = new Map<string, OpenCall>()
  const session = agent.open({ resume }, { cwd, approve })
  const { id } = session.conversation
  const { workspace } = session
  let running: AbortController | null = null
  session.listen(tell)

  async function update(update: SessionUpdate): Promise<void> {
    await client.notify(methods.client.session.update, { sessionId: id, update })
  }

  async function approve(...[request, verdict]: Parameters<Approve>): Promise<boolean> {
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
        { optionId: 'reject', name: 'Do not run it', kind: 'reject_once' },
      ],
    }
    const { outcome } = await client.request(methods.client.session.requestPermission, asked)
    return outcome.outcome === 'selected' && outcome.optionId === 'allow'
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
        return update({
          sessionUpdate: 'agent_thought_chunk',
          content: asText(`${event.message}\n`),
        })
      case 'retry': {
        const text = `${event.message}; trying again\n`
        return update({ sessionUpdate: 'agent_thought_chunk', content: asText(text) })
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
      kind: kindOf(name),
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

  return {
    id,
    prompt: (text, signal) => session.prompt(text, { signal }),
    async run(command, injected, signal) {
      const stop = new AbortController()
      running = stop
      try {
        const toolCallId = `command_${nowMs()}`
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
        return result.reason === 'cancel'
      } finally {
        running = null
      }
    },
    cancel(reason) {
      running?.abort(reason)
      session.cancel()
    },
    async replay() {
      for (const message of session.conversation.messages) await tellMessage(message)
    },
  }
}

interface OpenCall {
  command: string
  output: string
  /** When its output was told last, on the monotonic clock. */
  toldAtMs: number
}

function kindOf(tool: string): ToolKind {
  return tool === 'bash' ? 'execute' : tool === 'artifact' ? 'read' : 'other'
}

function asText(text: string) {
  return { type: 'text' as const, text }
}

function asContent(text: string) {
  return [{ type: 'content' as const, content: asText(text) }]
}
