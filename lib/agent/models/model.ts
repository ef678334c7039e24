import type { modelUsageShape } from '../../protocol/result/result.ts'
import type { ObjectSchema, Infer } from '../../protocol/shape/shape.ts'

/** What a provider wants to get back unchanged with a part: signatures, encrypted reasoning, ids. */
export type Opaque = Readonly<Record<string, unknown>>

/** A part of what a model has said, in the order of saying. */
export type AssistantPart =
  | { type: 'text'; text: string; opaque?: Opaque }
  | { type: 'reasoning'; text: string; opaque?: Opaque }
  | ToolCall

/** A tool that the model wants to be called. */
export interface ToolCall {
  type: 'tool_call'
  /** The provider's; the result carries the same one. */
  id: string
  name: string
  /** The arguments, or null if what came is not a JSON object; `raw` then holds it. */
  input: Record<string, unknown> | null
  raw?: string
  opaque?: Opaque
}

export interface ToolReply {
  callId: string
  name: string
  text: string
  isError: boolean
  /** Where the whole output is kept, for the time when `text` has to be shortened. */
  artifactId?: string
}

export interface AssistantMessage {
  role: 'assistant'
  parts: AssistantPart[]
  /** `provider/name` of who said it: no other model gets its opaque parts. */
  model: string
  /** The person broke it off: the last text is not whole. */
  interrupted?: boolean
}

/** A conversation as a model reads it, the same for every provider. */
export type Message =
  /**
   * `names`: runs and artifacts that the person has named, or whose results come with the text: handed over for
   * reading. `writes`: for writing too.
   */
  | { role: 'user'; text: string; names?: readonly string[]; writes?: readonly string[] }
  | AssistantMessage
  | { role: 'tool'; replies: ToolReply[] }

/** What a model is told of a tool. */
export interface ToolDescription {
  name: string
  description: string
  inputSchema: ObjectSchema
}

/** What a turn used. */
export interface Usage extends Infer<typeof modelUsageShape> {}

/** Why a turn ended. Only for `answer` and `tools` is the message whole; else it is what had come by then. */
export type TurnEnd = { type: 'end'; message: AssistantMessage; usage: Usage } & (
  | { reason: 'answer' | 'tools' | 'cancelled' }
  | { reason: 'failed'; error: ModelFailure }
)

export type ModelEvent =
  | { type: 'text'; delta: string }
  | { type: 'reasoning'; delta: string }
  /** The request failed and is made again after a while; what was told of its answer is void. */
  | { type: 'retry'; attempt: number; delayMs: number; message: string }
  | TurnEnd

export interface ModelFailure {
  /**
   * `no_model`, `unknown_provider`, `no_key`, `unauthorized`, `rate_limited`, `unavailable`,
   * `connection_lost`, `malformed_answer`, `refused`, `answer_too_long`, `context_too_long`,
   * `empty_answer`, `rejected`.
   */
  code: string
  /** One sentence for people. */
  message: string
}

export interface TurnOptions {
  /** Stands before the messages; it stays the same for a whole conversation, so it is cached. */
  system: string
  /** Aborting it ends the turn at once. */
  signal: AbortSignal
}

/** A model that can be talked to. */
export interface Model {
  /** `provider/name`. */
  readonly id: string
  /** Tokens that fit in; null if that is not known. */
  readonly contextTokens: number | null
  /** Whether what a turn costs is known. */
  readonly isPriced: boolean
  /** Never rejects; the last event is of type `end` and says why it stopped. */
  turn(
    messages: readonly Message[],
    tools: readonly ToolDescription[],
    options: TurnOptions,
  ): AsyncIterable<ModelEvent>
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, costUsd: 0 }

/** A cost that is not known makes the sum unknown. */
export function addUsage(one: Usage, other: Usage): Usage {
  const costUsd =
    one.costUsd === null || other.costUsd === null ? null : one.costUsd + other.costUsd
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    costUsd,
  }
}

/** The text of a message, without reasoning and calls. */
export function textOf(message: AssistantMessage): string {
  return message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

export function toolCallsOf(message: AssistantMessage): ToolCall[] {
  return message.parts.filter((part) => part.type === 'tool_call')
}
