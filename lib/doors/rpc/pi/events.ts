import type { AgentEvent } from '../../../agent/events.ts'
import { mostTries, noUsage } from '../../../agent/models/model.ts'
import { assistantMessage, type PiMessage, toolResultMessage, userMessage } from './messages.ts'

/** Every update of pi repeats the output of a command so far, up to so many characters. */
const shownChars = 20_000

type PiEvent = Record<string, unknown> & { type: string }

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
  let isRetrying = false
  const calls = new Map<string, { toolName: string; args: unknown; output: string }>()

  function add(message: PiMessage): PiEvent[] {
    added.push(message)
    keep(message)
    return [
      { type: 'message_start', message },
      { type: 'message_end', message },
    ]
  }

  const said = (end: { stopReason: string; errorMessage?: string }) =>
    assistantMessage({ role: 'assistant', parts: saying, model }, noUsage, end)

  /** An update of what the model is saying. */
  function update(what: 'start' | 'delta' | 'end', more: Record<string, unknown> = {}): PiEvent {
    const partial = said({ stopReason: 'stop' })
    const kind = saying.at(-1)?.type === 'text' ? 'text' : 'thinking'
    const type = `${kind}_${what}`
    const contentIndex = saying.length - 1
    const assistantMessageEvent = { type, contentIndex, ...more, partial }
    return { type: 'message_update', message: partial, assistantMessageEvent }
  }

  function say(type: 'text' | 'reasoning', delta: string): PiEvent[] {
    const isNew = saying.at(-1)?.type !== type
    const events = isNew ? endPart() : []
    if (saying.length === 0) {
      events.push({ type: 'message_start', message: said({ stopReason: 'stop' }) })
    }
    if (isNew) {
      saying.push({ type, text: '' })
      events.push(update('start'))
    }
    const part = saying.at(-1)
    if (part) part.text += delta
    return [...events, update('delta', { delta })]
  }

  function endPart(): PiEvent[] {
    const part = saying.at(-1)
    return part ? [update('end', { content: part.text })] : []
  }

  /** The message that was being said is whole, or broken off. */
  function endMessage(message: PiMessage): PiEvent[] {
    const [start, end] = add(message) as [PiEvent, PiEvent]
    const events = saying.length === 0 ? [start, end] : [...endPart(), end]
    saying = []
    if (turn) turn.message = message
    return events
  }

  function endTurn(): PiEvent[] {
    const events = turn === null ? [] : [{ type: 'turn_end', ...turn }]
    turn = null
    return events
  }

  function endRetry(success: boolean): PiEvent[] {
    const events = isRetrying ? [{ type: 'auto_retry_end', success, attempt: 1 }] : []
    isRetrying = false
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
        return [...endRetry(true), ...say(event.type, event.text)]
      case 'message': {
        const isCalling = event.message.parts.some(({ type }) => type === 'tool_call')
        const stopReason = isCalling ? 'toolUse' : 'stop'
        const message = assistantMessage(event.message, event.usage, { stopReason })
        return [...endRetry(true), ...endMessage(message)]
      }
      case 'tool_call': {
        const { id: toolCallId, name: toolName, arguments: args } = event
        calls.set(toolCallId, { toolName, args, output: '' })
        return [{ type: 'tool_execution_start', toolCallId, toolName, args }]
      }
      case 'tool_output': {
        const call = calls.get(event.id)
        if (!call) return []
        call.output = (call.output + event.data).slice(-shownChars)
        const { toolName, args, output } = call
        const partialResult = { content: [{ type: 'text', text: output }], details: {} }
        const toolCallId = event.id
        return [{ type: 'tool_execution_update', toolCallId, toolName, args, partialResult }]
      }
      case 'tool_result': {
        const { id: toolCallId, reply, details } = event
        const { name: toolName, text, isError } = reply
        calls.delete(toolCallId)
        const message = toolResultMessage(event)
        turn?.toolResults.push(message)
        const result = { content: [{ type: 'text', text }], details }
        return [
          { type: 'tool_execution_end', toolCallId, toolName, result, isError },
          ...add(message),
        ]
      }
      case 'steer':
        return add(userMessage(event.text))
      case 'retry': {
        const { attempt, delayMs, message: errorMessage } = event
        const message = said({ stopReason: 'error', errorMessage })
        const broken = saying.length === 0 ? [] : [...endPart(), { type: 'message_end', message }]
        saying = []
        isRetrying = true
        const maxAttempts = mostTries
        return [
          ...broken,
          { type: 'auto_retry_start', attempt, maxAttempts, delayMs, errorMessage },
        ]
      }
      case 'notice':
        return []
      case 'result': {
        const { status, error } = event
        const stopReason = status === 'cancelled' ? 'aborted' : 'error'
        const isOver = status === 'answered' || (status === 'limit' && saying.length === 0)
        const end = { stopReason, ...(error && { errorMessage: error.message }) }
        return [
          ...endRetry(false),
          ...(isOver ? [] : endMessage(said(end))),
          ...endTurn(),
          { type: 'agent_end', messages: added },
          { type: 'agent_settled' },
        ]
      }
    }
  }
}
