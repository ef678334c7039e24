import type { AgentEvent } from '../../../agent/events.ts'
import type { AssistantMessage, Usage } from '../../../agent/models/model.ts'
import { findFacts } from '../../../agent/models/prices.ts'

/** A message as pi's clients know it; `role` says which. */
export type PiMessage = Record<string, unknown> & { role: string }

/** A model as pi's clients know it, of `provider/name`. */
export function describeModel(id: string): Record<string, unknown> {
  const [provider, name] = splitModel(id)
  const facts = findFacts(name)
  return {
    id: name,
    name,
    api: provider === 'anthropic' ? 'anthropic-messages' : 'openai-completions',
    provider,
    baseUrl: '',
    reasoning: true,
    input: ['text'],
    contextWindow: facts?.contextTokens ?? 0,
    maxTokens: 0,
    cost: facts?.price ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  }
}

function splitModel(id: string): [provider: string, name: string] {
  const slash = id.indexOf('/')
  return slash < 0 ? [id, ''] : [id.slice(0, slash), id.slice(slash + 1)]
}

export function userMessage(text: string): PiMessage {
  return { role: 'user', content: [{ type: 'text', text }], timestamp: Date.now() }
}

export function assistantMessage(
  { parts, model }: AssistantMessage,
  usage: Usage,
  end: { stopReason: string; errorMessage?: string },
): PiMessage {
  const [provider, name] = splitModel(model)
  const content = parts.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    if (part.type === 'reasoning') return { type: 'thinking', thinking: part.text }
    return { type: 'toolCall', id: part.id, name: part.name, arguments: part.input ?? {} }
  })
  const { inputTokens, outputTokens, cacheReadTokens, costUsd } = usage
  return {
    role: 'assistant',
    content,
    api: provider === 'anthropic' ? 'anthropic-messages' : 'openai-completions',
    provider,
    model: name,
    usage: {
      input: inputTokens,
      output: outputTokens,
      cacheRead: cacheReadTokens,
      cacheWrite: 0,
      totalTokens: inputTokens + outputTokens,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: costUsd ?? 0 },
    },
    ...end,
    timestamp: Date.now(),
  }
}

export function toolResultMessage(event: Extract<AgentEvent, { type: 'tool_result' }>): PiMessage {
  const { reply, details } = event
  return {
    role: 'toolResult',
    toolCallId: reply.callId,
    toolName: reply.name,
    content: [{ type: 'text', text: reply.text }],
    details,
    isError: reply.isError,
    timestamp: Date.now(),
  }
}

/** The text of a message of a model; null where there is none. */
export function textOfMessage(message: PiMessage | undefined): string | null {
  const content = message?.['content'] as readonly { text?: string }[] | undefined
  return content?.map(({ text = '' }) => text).join('') ?? null
}
