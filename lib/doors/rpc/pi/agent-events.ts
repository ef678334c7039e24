import type { AgentEvent } from '../../../agent/events.ts'
import { mostTries, noUsage } from '../../../agent/models/model.ts'
import { assistantMessage, type PiMessage, toolResultMessage, userMessage } from './messages.ts'

/** Every update of pi repeats the output of a command so far, up to so many characters. */
const shownChars = 20_000

export interface EventWriter {
  /** Gives pi's events for one of the agent's, in order. */
  write(event: AgentEvent): Record<string, unknown>[]
}

/**
 * Writes what the agent does as pi does it: a turn is one message of the model with the results of
 * its calls. `keep` takes each message of the conversation once.
 */
export function createEventWriter(keep: (message: PiMessage) => void): EventWriter {
  const added: PiMessage[] = []
  let model = ''
  /** What the model is saying now. */
  let saying: { type: 'text' | 'reasoning'; text: string }[] = []
  let isOpen = false
  let turn: { message: PiMessage | null; results: PiMessage[] } | null = null
  let isRetrying = false
  const calls = new Map<string, { name: string; given: unknown; output: string }>()

  function add(message: PiMessage): Record<string, unknown>[] {
    added.push(message)
    keep(message)
    return [
      { type: 'message_start', message },
      { type: 'message_end', message },
    ]
  }

  const partial = () =>
    assistantMessage({ role: 'assistant', parts: saying, model }, noUsage, { stopReason: 'stop' })

  function say(type: 'text' | 'reasoning', delta: string): Record<string, unknown>[] {
    const kind = type === 'text' ? 'text' : 'thinking'
    const events: Record<string, unknown>[] = []
    const update = (event: Record<string, unknown>) => {
      const message = partial()
      events.push({
        type: 'message_update',
        message,
        assistantMessageEvent: { ...event, partial: message },
      })
    }
    if (!isOpen) {
      isOpen = true
      events.push({ type: 'message_start', message: partial() })
    }
    if (saying.at(-1)?.type !== type) {
      events.push(...endPart())
      saying.push({ type, text: '' })
      update({ type: `${kind}_start`, contentIndex: saying.length - 1 })
    }
    const part = saying.at(-1)
    if (part) part.text += delta
    update({ type: `${kind}_delta`, contentIndex: saying.length - 1, delta })
    return events
  }

  function endPart(): Record<string, unknown>[] {
    const part = saying.at(-1)
    if (!part) return []
    const kind = part.type === 'text' ? 'text' : 'thinking'
    const message = partial()
    const event = {
      type: `${kind}_end`,
      contentIndex: saying.length - 1,
      content: part.text,
      partial: message,
    }
    return [{ type: 'message_update', message, assistantMessageEvent: event }]
  }

  /** The message that was being said is whole, or broken off. */
  function endMessage(message: PiMessage): Record<string, unknown>[] {
    const events = [...endPart(), ...(isOpen ? [] : [{ type: 'message_start', message }])]
    added.push(message)
    keep(message)
    saying = []
    isOpen = false
    if (turn) turn.message = message
    return [...events, { type: 'message_end', message }]
  }

  function endTurn(): Record<string, unknown>[] {
    if (turn === null) return []
    const { message, results } = turn
    turn = null
    return [{ type: 'turn_end', message, toolResults: results }]
  }

  function endRetry(success: boolean): Record<string, unknown>[] {
    if (!isRetrying) return []
    isRetrying = false
    return [{ type: 'auto_retry_end', success, attempt: 1 }]
  }

  return {
    write(event) {
      switch (event.type) {
        case 'start':
          model = event.model ?? ''
          return [{ type: 'agent_start' }, ...add(userMessage(event.text))]
        case 'step':
          return [...endTurn(), ...beginTurn()]
        case 'text':
        case 'reasoning':
          return [...endRetry(true), ...say(event.type, event.text)]
        case 'message': {
          const calls = event.message.parts.some(({ type }) => type === 'tool_call')
          const stopReason = calls ? 'toolUse' : 'stop'
          const message = assistantMessage(event.message, event.usage, { stopReason })
          return [...endRetry(true), ...endMessage(message)]
        }
        case 'tool_call': {
          const { id, name, arguments: given } = event
          calls.set(id, { name, given, output: '' })
          return [{ type: 'tool_execution_start', toolCallId: id, toolName: name, args: given }]
        }
        case 'tool_output': {
          const call = calls.get(event.id)
          if (!call) return []
          call.output = (call.output + event.data).slice(-shownChars)
          const content = [{ type: 'text', text: call.output }]
          return [
            {
              type: 'tool_execution_update',
              toolCallId: event.id,
              toolName: call.name,
              args: call.given,
              partialResult: { content, details: {} },
            },
          ]
        }
        case 'tool_result': {
          const { id, reply, details } = event
          calls.delete(id)
          const message = toolResultMessage(event)
          turn?.results.push(message)
          const result = { content: [{ type: 'text', text: reply.text }], details }
          return [
            {
              type: 'tool_execution_end',
              toolCallId: id,
              toolName: reply.name,
              result,
              isError: reply.isError,
            },
            ...add(message),
          ]
        }
        case 'steer':
          return add(userMessage(event.text))
        case 'retry': {
          isRetrying = true
          saying = []
          const { attempt, delayMs, message: errorMessage } = event
          return [
            { type: 'auto_retry_start', attempt, maxAttempts: mostTries, delayMs, errorMessage },
          ]
        }
        case 'notice':
          return []
        case 'result': {
          const { status, error } = event
          const stopReason = status === 'cancelled' ? 'aborted' : 'error'
          const end = { stopReason, ...(error && { errorMessage: error.message }) }
          const said = { role: 'assistant' as const, parts: saying, model }
          const isOver = status === 'answered' || (status === 'limit' && !isOpen)
          const last = isOver ? [] : endMessage(assistantMessage(said, noUsage, end))
          return [
            ...endRetry(false),
            ...last,
            ...endTurn(),
            { type: 'agent_end', messages: added },
            { type: 'agent_settled' },
          ]
        }
      }
    },
  }

  function beginTurn(): Record<string, unknown>[] {
    turn = { message: null, results: [] }
    return [{ type: 'turn_start' }]
  }
}
