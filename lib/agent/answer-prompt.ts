import type { ToolDesk } from './call-tools.ts'
import type { Conversation } from './conversations/store.ts'
import type { PromptResult } from '../protocol/result/result.ts'
import type { AgentListener } from './events.ts'
import { type InjectionQueue, namesIn } from './injection.ts'
import {
  addUsage,
  type AssistantMessage,
  type Model,
  type ModelFailure,
  noUsage,
  textOf,
  toolCallsOf,
  type ToolDescription,
  type TurnEnd,
} from './models/model.ts'
import type { OutputSchema } from './output-schema.ts'
import type { PromptLimits } from './settings.ts'
import { shortenReplies } from './shorten.ts'

/** What one prompt is answered with. */
export interface PromptParts {
  model: Model
  conversation: Conversation
  desk: ToolDesk
  queue: InjectionQueue
  /** What a person says while the model works. */
  steering: string[]
  system: string
  limits: PromptLimits
  schema: OutputSchema | null
  tools: readonly ToolDescription[]
  /** Aborts when the prompt is to end; its reason tells a deadline from a person. */
  signal: AbortSignal
  tell: AgentListener
}

export type PromptEnd = Pick<PromptResult, 'status' | 'text' | 'data' | 'steps' | 'usage' | 'error'>

/** The reason of a signal that a deadline has aborted, and no person. */
export const timedOut = 'timeout'

/** An answer that does not meet its schema is asked for again so often. */
const schemaRetries = 2
/** Past this part of its context a model gets a shorter conversation before it complains. */
const fullContext = 0.8
/** How many rounds of calls stay whole when room is made, less each time. */
const keptRounds = [4, 1, 0]

/**
 * Asks the model, runs what it calls for and asks again, until it has answered or something ends it.
 * The conversation stays one that can be gone on with, whatever happens.
 */
export async function answerPrompt(text: string, parts: PromptParts): Promise<PromptEnd> {
  const { conversation, desk, queue, steering, limits, schema, signal, tell } = parts
  const waiting = queue.peek()
  const news = (await desk.takeEnded()).map(
    (line) => `[Ended in the background: ${line}]
`,
  )
  const request =
    schema === null
      ? ''
      : `

${schema.request}`
  const question = `${waiting.text}${news.join('')}${text}${request}`
  const names = [...waiting.names, ...namesIn(text)]
  conversation.add({ role: 'user', text: question, names })
  let usage = noUsage
  let steps = 0
  let mended = 0
  /** Whether the model has taken the question. */
  let taken = false

  function end(status: PromptEnd['status'], rest: Partial<PromptEnd> = {}): PromptEnd {
    const { error = null } = rest
    conversation.end(status, error?.message ?? null)
    return { text: '', data: null, ...rest, status, steps, usage, error }
  }

  /** A person, or the deadline, has stopped it. */
  function endStopped(): PromptEnd {
    return signal.reason === timedOut
      ? end('limit', { error: describeTimeout(limits) })
      : end('cancelled')
  }

  for (;;) {
    if (signal.aborted) return endStopped()
    const limit = describeLimit(steps, usage.costUsd, limits)
    if (limit !== null) return end('limit', { error: limit })
    steps++
    await tell({ type: 'step', step: steps })
    const turn = await takeTurn(parts)
    usage = addUsage(usage, turn.usage)
    if (turn.reason === 'failed') {
      if (!taken) conversation.withdraw(turn.error.message)
      return end('failed', { error: turn.error })
    }
    if (turn.reason === 'cancelled') {
      const said = keepText(turn.partial)
      if (said.parts.length > 0) conversation.add({ ...said, interrupted: true }, turn.usage)
      else if (!taken) conversation.withdraw('cancelled')
      return endStopped()
    }
    if (!taken) queue.take(waiting)
    taken = true
    const { message } = turn
    conversation.add(message, turn.usage)
    await tell({ type: 'message', message, usage: turn.usage })
    if (turn.reason === 'tools') {
      const replies = await desk.call(toolCallsOf(message), signal)
      const news = await desk.takeEnded()
      const last = replies.at(-1)
      if (last && news.length > 0) last.text += `\n[Ended in the background: ${news.join('; ')}]`
      conversation.add({ role: 'tool', replies })
    }
    if (steering.length > 0 && !signal.aborted) {
      for (const said of steering.splice(0)) {
        conversation.add({ role: 'user', text: said, names: namesIn(said) })
        await tell({ type: 'steer', text: said })
      }
      continue
    }
    if (turn.reason === 'tools') continue
    const answer = textOf(message)
    if (schema === null) return end('answered', { text: answer })
    const read = schema.read(answer)
    if ('data' in read) return end('answered', { text: answer, data: read.data })
    if (mended++ === schemaRetries) {
      const why = `The answer does not meet the schema: ${read.wrong}`
      return end('failed', { error: { code: 'schema_not_met', message: why } })
    }
    conversation.add({
      role: 'user',
      text: `The answer does not meet the schema: ${read.wrong}. ${schema.request}`,
    })
  }
}

/** One turn of the model; where the conversation is too long for it, once more with a shorter one. */
async function takeTurn(parts: PromptParts): Promise<TurnEnd> {
  const { model, conversation, tools, system, signal, tell } = parts
  const room = [...keptRounds]
  const makeRoom = async (): Promise<boolean> => {
    for (let kept = room.shift(); kept !== undefined; kept = room.shift()) {
      const shorter = shortenReplies(conversation.messages, kept)
      if (shorter === null) continue
      conversation.shorten(shorter)
      await tell({ type: 'notice', message: 'Old results were shortened to make room' })
      return true
    }
    return false
  }
  if (isNearlyFull(model, conversation)) await makeRoom()
  for (;;) {
    let end: TurnEnd | null = null
    for await (const event of model.turn(conversation.messages, tools, { system, signal })) {
      if (event.type === 'end') end = event
      else if (event.type === 'text' || event.type === 'reasoning') {
        await tell({ type: event.type, text: event.delta })
      } else await tell(event)
    }
    if (end === null) throw new Error('a turn of a model ended without saying why')
    const isTooLong = end.reason === 'failed' && end.error.code === 'context_too_long'
    if (!isTooLong || !(await makeRoom())) return end
  }
}

/** A token counts as four characters, which is exact enough to act before the provider refuses. */
function isNearlyFull({ contextTokens }: Model, { messages }: Conversation): boolean {
  if (contextTokens === null) return false
  let chars = 0
  for (const message of messages) {
    if (message.role === 'user') chars += message.text.length
    else if (message.role === 'tool') for (const { text } of message.replies) chars += text.length
    else chars += textOf(message).length
  }
  return chars / 4 > contextTokens * fullContext
}

/** Calls that were never made are nothing to go on with. */
function keepText(message: AssistantMessage): AssistantMessage {
  const parts = message.parts.filter((part) => part.type === 'text' && part.text !== '')
  return { ...message, parts }
}

function describeLimit(
  steps: number,
  costUsd: number | null,
  { maxSteps, maxCostUsd }: PromptLimits,
): ModelFailure | null {
  if (steps >= maxSteps) {
    const message = `No answer after ${maxSteps} steps, which is the limit (--max-steps)`
    return { code: 'max_steps', message }
  }
  if (maxCostUsd !== null && (costUsd ?? 0) >= maxCostUsd) {
    const spent = (costUsd ?? 0).toFixed(4)
    const message = `No answer for $${spent}, and $${maxCostUsd} is the limit (--max-cost)`
    return { code: 'max_cost', message }
  }
  return null
}

function describeTimeout({ timeoutMs }: PromptLimits): ModelFailure {
  const message = `No answer within ${(timeoutMs ?? 0) / 1000} s, which is the limit (--timeout)`
  return { code: 'timeout', message }
}
