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
  const { api, provider, model } = originOf(id)
  const contextWindow = findFacts(model)?.contextTokens ?? 0
  return { id: model, name: model, api, provider, reasoning: true, contextWindow }
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
  { parts, model }: Pick<AssistantMessage, 'parts' | 'model'>,
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
  /** What the model is saying now; empty: nothing yet. */
  let said = ''
  let turn: { message: PiMessage | null; toolResults: PiMessage[] } | null = null
  const calls = new Map<string, { toolName: string; args: unknown; output: string }>()

  function saying(stopReason: string, errorMessage?: string): PiMessage {
    const parts = said === '' ? [] : [{ type: 'text' as const, text: said }]
    const end = { stopReason, ...(errorMessage !== undefined && { errorMessage }) }
    return assistantMessage({ parts, model }, noUsage, end)
  }

  function add(message: PiMessage): PiEvent[] {
    added.push(message)
    keep(message)
    return [
      { type: 'message_start', message },
      { type: 'message_end', message },
    ]
  }

  /** The message that was being said is whole, or broken off. */
  function endMessage(message: PiMessage): PiEvent[] {
    const events = add(message).slice(said === '' ? 0 : 1)
    said = ''
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
      case 'text': {
        const isFirst = said === ''
        said += event.text
        const message = saying('stop')
        const delta = { type: 'text_delta', contentIndex: 0, delta: event.text, partial: message }
        return [
          ...(isFirst ? [{ type: 'message_start', message }] : []),
          { type: 'message_update', message, assistantMessageEvent: delta },
        ]
      }
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
        const { output, ...called } = call
        const partialResult = { content: asContent(output), details: {} }
        return [{ type: 'tool_execution_update', toolCallId, ...called, partialResult }]
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
        const message = saying('error', event.message)
        const events = said === '' ? [] : [{ type: 'message_end', message }]
        said = ''
        return events
      }
      case 'reasoning':
      case 'notice':
        return []
      case 'result': {
        const { status, error } = event
        const isOver = status === 'answered' || (status === 'limit' && said === '')
        const stopReason = status === 'cancelled' ? 'aborted' : 'error'
        return [
          ...(isOver ? [] : endMessage(saying(stopReason, error?.message))),
          ...endTurn(),
          { type: 'agent_end', messages: added },
          { type: 'agent_settled' },
        ]
      }
    }
  }
}
