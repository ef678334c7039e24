import type { PromptResult } from '../protocol/result/result.ts'
import type { AssistantMessage, ToolReply, Usage } from './models/model.ts'
import type { StreamName } from '../protocol/result/event.ts'
import { toWire } from '../protocol/wire.ts'

/** What happens while a prompt is answered, in order; the result comes last. */
export type AgentEvent =
  | { type: 'start'; conversationId: string; model: string | null; text: string }
  /** The model is asked for the `step`-th time. */
  | { type: 'step'; step: number }
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  /** The model has said what it had to say in this step. */
  | { type: 'message'; message: AssistantMessage; usage: Usage }
  | { type: 'tool_call'; id: string; name: string; arguments: Record<string, unknown> }
  /** What its command writes, as it comes: whole characters, not cleaned. */
  | { type: 'tool_output'; id: string; runId: string; stream: StreamName; data: string }
  | { type: 'tool_result'; id: string; reply: ToolReply; runId: string | null; details: unknown }
  /** What a person said in between goes to the model now. */
  | { type: 'steer'; text: string }
  /** A request failed and is made again: what was said in this step is void. */
  | { type: 'retry'; attempt: number; delayMs: number; message: string }
  | { type: 'notice'; message: string }
  | PromptResult

/** A returned promise holds the agent up. */
export type AgentListener = (event: AgentEvent) => unknown

/** An event as every wire has it. */
export function eventToWire(event: AgentEvent): Record<string, unknown> & { type: string } {
  return toWire(selectTold(event)) as Record<string, unknown> & { type: string }
}

function selectTold(event: AgentEvent): object {
  switch (event.type) {
    case 'start': {
      const { text: _, ...told } = event
      return told
    }
    case 'message':
      return { type: 'usage', usage: event.usage }
    case 'tool_result': {
      const { type, id, reply, runId } = event
      const { name, text, isError } = reply
      return { type, id, name, text, isError, runId }
    }
    default:
      return event
  }
}
