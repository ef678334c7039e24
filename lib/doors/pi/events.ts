import type { AgentEvent } from '../../agent/events.ts'
import { type AssistantMessage, noUsage, type Usage } from '../../agent/models/model.ts'
import { findFacts } from '../../agent/models/providers.ts'

/** A message as pi's clients know it; `role` says which. */
export type PiMessage = Record<string, unknown> & { role: string }
type PiEvent = Record<string, unknown> & { type: string }

/** Every update of pi repeats the output of a command so far, up to so many characters. */
const shownChars = 20_000

/** A model as pi's clients know it, of `provider/name`. */
export function describeModel(id: string): Record<string, unknown> {
  const origin = originOf(id)
  const facts = findFacts(origin.model)
  return {
    id: origin.model,
    name: origin.model,
    api: origin.api,
    provider: origin.provider,
    baseUrl: '',
    reasoning: true,
    input: ['text'],
    contextWindow: facts?.contextTokens ?? 0,
    maxTokens: 0,
    cost: facts?.price ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  }
}

function originOf(id: string) {
  const [provider = '', ...rest] = id.split('/')
  const api = provider === 'anthropic' ? 'anthropic-messages' : 'openai-completions'
  return { api, provider, model: rest.join('/') }
}

const asContent = (text: string) => [{ type: 'text', text }]

function userMessage(text: string): PiMessage {
  return { role: 'user', content: asContent(text), timestamp: Date.now() }
}

function assistantMessage(
  { parts, model }: AssistantMessage,
  { inputTokens, outputTokens, cacheReadTokens, costUsd }: Usage,
  end: { stopReason: string; errorMessage?: string },
): PiMessage {
  const content = parts.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    if (part.type === 'reasoning') return { type: 'thinking', thinking: part.text }
    return { type: 'toolCall', id: part.id, name: part.name, arguments: part.input ?? {} }
  })
  return {
    role: 'assistant',
    content,
    ...originOf(model),
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

/**
 * Makes a writer that gives pi's events for each event of the agent, in order: a turn is one message of the
 * model with the results of its calls. `keep` takes each message of the conversation once.
 */
export function createEventWriter(
  keep: (message: PiMessage) => void,
): (event: AgentEvent) => PiEvent[] {
  const added: PiMessage[] = []
  let model = ''
  /** What the model is saying now. */
  let saying: { type: 'text' | 'reasoning'; text: string }[] = []
  let turn: { message: PiMessage | null; toolResults: PiMessage[] } | null = null
  const calls = new Map<string, { toolName: string; args: unknown; output: string }>()

  const said = (end: { stopReason: string; errorMessage?: string }) =>
    assistantMessage({ role: 'assistant', parts: saying, model }, noUsage, end)

  function add(message: PiMessage): PiEvent[] {
    added.push(message)
    keep(message)
    return [
      { type: 'message_start', message },
      { type: 'message_end', message },
    ]
  }

  function say(type: 'text' | 'reasoning', delta: string): PiEvent[] {
    const isFirst = saying.length === 0
    const last = saying.at(-1)
    if (last?.type === type) last.text += delta
    else saying.push({ type, text: delta })
    const message = said({ stopReason: 'stop' })
    const kind = type === 'text' ? 'text_delta' : 'thinking_delta'
    const contentIndex = saying.length - 1
    const assistantMessageEvent = { type: kind, contentIndex, delta, partial: message }
    return [
      ...(isFirst ? [{ type: 'message_start', message }] : []),
      { type: 'message_update', message, assistantMessageEvent },
    ]
  }

  /** The message that was being said is whole, or broken off. */
  function endMessage(message: PiMessage): PiEvent[] {
    const events = add(message).slice(saying.length === 0 ? 0 : 1)
    saying = []
    if (turn) turn.message = message
    return events
  }

  function endTurn(): PiEvent[] {
    const events = turn === null ? [] : [{ type: 'turn_end', ...turn }]
    turn = null
    return events
  }

  return (event) => {
    switch (event.type) {
      case 'start':
        model = event.model ?? ''
        return [{ type: 'agent_start' }, ...add(userMessage(event.text))]
      case 'step': {
        const events = endTurn()
        turn = { message: null, toolResults: [] }
        return [...events, { type: 'turn_start' }]
      }
      case 'text':
      case 'reasoning':
        return say(event.type, event.text)
      case 'message': {
        const isCalling = event.message.parts.some(({ type }) => type === 'tool_call')
        const stopReason = isCalling ? 'toolUse' : 'stop'
        return endMessage(assistantMessage(event.message, event.usage, { stopReason }))
      }
      case 'tool_call': {
        const { id: toolCallId, name: toolName, arguments: args } = event
        calls.set(toolCallId, { toolName, args, output: '' })
        return [{ type: 'tool_execution_start', toolCallId, toolName, args }]
      }
      case 'tool_output': {
        const { id: toolCallId, data } = event
        const call = calls.get(toolCallId)
        if (!call) return []
        call.output = (call.output + data).slice(-shownChars)
        const { toolName, args, output } = call
        const partialResult = { content: asContent(output), details: {} }
        return [{ type: 'tool_execution_update', toolCallId, toolName, args, partialResult }]
      }
      case 'tool_result': {
        const { id: toolCallId, reply, details } = event
        const { name: toolName, text, isError } = reply
        calls.delete(toolCallId)
        const result = { content: asContent(text), details }
        const common = { toolCallId, toolName, isError }
        const message = { role: 'toolResult', ...common, ...result, timestamp: Date.now() }
        turn?.toolResults.push(message)
        return [{ type: 'tool_execution_end', ...common, result }, ...add(message)]
      }
      case 'steer':
        return add(userMessage(event.text))
      case 'retry': {
        if (saying.length === 0) return []
        const message = said({ stopReason: 'error', errorMessage: event.message })
        saying = []
        return [{ type: 'message_end', message }]
      }
      case 'notice':
        return []
      case 'result': {
        const { status, error } = event
        const stopReason = status === 'cancelled' ? 'aborted' : 'error'
        const isOver = status === 'answered' || (status === 'limit' && saying.length === 0)
        const end = { stopReason, ...(error && { errorMessage: error.message }) }
        return [
          ...(isOver ? [] : endMessage(said(end))),
          ...endTurn(),
          { type: 'agent_end', messages: added },
          { type: 'agent_settled' },
        ]
      }
    }
  }
}
