import { setMaxListeners } from 'node:events'
import type {
  LanguageModelV3,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider'
import { isObject } from '../../protocol/shape/shape.ts'
import { nowMs, pause } from '../../system/clock.ts'
import { type FailedRequest, readFailure } from './failure.ts'
import {
  addUsage,
  type AssistantMessage,
  type AssistantPart,
  type Model,
  type ModelEvent,
  noUsage,
  type Opaque,
  textOf,
  type ToolCall,
  toolCallsOf,
  type Usage,
} from './model.ts'
import { findFacts, type Price, type Provider } from './providers.ts'

/** A request that fails is made at most so many times. */
export const mostTries = 20
/** No try begins later than so long after the first failure. */
const patienceMs = 10 * 60_000
/** A server on this machine that takes no connection for longer was not started, and will not be meanwhile. */
const localPatienceMs = 10_000
/** Before the second try; doubled before each further one, up to the longest. */
const firstDelayMs = 500
const longestDelayMs = 30_000
/** A pause is longer by up to this part of it, so that many clients do not come back at the same moment. */
const jitter = 0.25

/** The model of that name at a provider. Nothing is loaded or sent before its first turn. */
export function createModel(provider: Provider, name: string): Model {
  const id = `${provider.name}/${name}`
  const facts = provider.isLocal ? null : findFacts(name)
  const price = provider.isLocal ? free : (facts?.price ?? null)
  let opened: LanguageModelV3 | null = null

  return {
    id,
    contextTokens: facts?.contextTokens ?? null,
    isPriced: price !== null,
    async *turn(messages, tools, { system, signal }) {
      const { openLanguageModel, writePrompt, writeTools } = await import('./sdk.ts')
      const model = (opened ??= openLanguageModel(provider, name))
      const request: StreamRequest = {
        prompt: writePrompt({ system, messages, api: provider.api, modelId: id }),
        tools: writeTools(tools),
        // So that signs of life without words are heard too.
        includeRawChunks: true,
        ...(provider.api === 'openai-responses' && {
          // Nothing is kept there; reasoning comes and goes encrypted.
          providerOptions: { openai: { store: false } },
        }),
      }
      let usage = noUsage
      let failingSinceMs: number | null = null
      for (let attempt = 1; ; attempt++) {
        const answer = startAnswer(id)
        yield* receive(model, request, answer, { signal, idleMs: provider.idleMs })
        usage = addUsage(usage, costOf(answer.usage, price))
        const { message } = answer
        if (signal.aborted) {
          yield { type: 'end', reason: 'cancelled', message, usage }
          return
        }
        const failed = findFailure(answer, provider.name)
        if (failed === null) {
          const reason = toolCallsOf(message).length > 0 ? 'tools' : 'answer'
          yield { type: 'end', reason, message, usage }
          return
        }
        const { failure, mayRetry, retryAfterMs } = failed
        const shortestMs =
          retryAfterMs ?? Math.min(firstDelayMs * 2 ** (attempt - 1), longestDelayMs)
        const delayMs = Math.round(shortestMs * (1 + Math.random() * jitter))
        failingSinceMs ??= nowMs()
        const isNotThere = provider.isLocal && failure.code === 'connection_lost'
        const longestMs = isNotThere ? localPatienceMs : patienceMs
        const isTooLate = nowMs() - failingSinceMs + delayMs > longestMs
        if (!mayRetry || attempt === mostTries || isTooLate) {
          yield { type: 'end', reason: 'failed', message, usage, error: failure }
          return
        }
        const dropped = message.parts.length > 0 ? '; the unfinished answer is dropped' : ''
        yield { type: 'retry', attempt, delayMs, message: failure.message + dropped }
        await pause(delayMs, signal)
      }
    },
  }
}

const free: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

type StreamRequest = Omit<Parameters<LanguageModelV3['doStream']>[0], 'abortSignal'>

/** An answer as it comes in. */
interface Answer {
  readonly message: AssistantMessage
  usage: LanguageModelV3Usage | null
  finish: LanguageModelV3FinishReason | null
  /** The first error of the request or of its stream. */
  error: { value: unknown } | null
}

const startAnswer = (model: string): Answer => ({
  message: { role: 'assistant', parts: [], model },
  usage: null,
  finish: null,
  error: null,
})

/** Makes a request once and takes its stream into the answer; gives what is told while it comes. */
async function* receive(
  model: LanguageModelV3,
  request: StreamRequest,
  answer: Answer,
  { signal, idleMs }: { signal: AbortSignal; idleMs: number },
): AsyncGenerator<ModelEvent> {
  const over = new AbortController()
  const silence = new Error(`nothing has come for ${idleMs / 1000} s`)
  const lost = Object.assign(silence, { code: 'ETIMEDOUT' })
  const idle = setTimeout(() => over.abort(lost), idleMs)
  const abortSignal = AbortSignal.any([signal, over.signal])
  // Every layer of the library listens to it.
  setMaxListeners(0, abortSignal)
  try {
    const { stream } = await model.doStream({ ...request, abortSignal })
    yield* readStream(stream, answer, () => idle.refresh())
  } catch (error) {
    answer.error ??= { value: error }
  } finally {
    clearTimeout(idle)
    // Closes the connection.
    over.abort()
  }
}

async function* readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  answer: Answer,
  onPart: () => void,
): AsyncGenerator<ModelEvent> {
  const { parts } = answer.message
  const growing = new Map<string, Extract<AssistantPart, { type: 'text' | 'reasoning' }>>()
  for await (const part of stream) {
    onPart()
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const type = part.type.startsWith('text') ? 'text' : 'reasoning'
        const key = `${type} ${part.id}`
        if (part.type.endsWith('-start')) {
          const grown = { type, text: '' } as const
          parts.push(grown)
          growing.set(key, grown)
        }
        const grown = growing.get(key)
        if (!grown) break
        addOpaque(grown, part.providerMetadata)
        if (!('delta' in part) || part.delta === '') break
        grown.text += part.delta
        yield { type, delta: part.delta }
        break
      }
      case 'tool-call':
        parts.push(readCall(part))
        break
      case 'finish':
        answer.finish = part.finishReason
        answer.usage = part.usage
        break
      case 'error':
        answer.error ??= { value: part.error }
        break
    }
  }
}

/** What is wrong with an answer now that its stream has ended; null if it is whole. */
function findFailure({ message, finish, error }: Answer, provider: string): FailedRequest | null {
  const fail = (code: string, text: string, mayRetry = false): FailedRequest => ({
    failure: { code, message: text },
    mayRetry,
    retryAfterMs: null,
  })
  // This error of the library only follows from a stream that is not whole.
  const saysNoEnd =
    error?.value instanceof Error && error.value.message.includes('ended without a finish reason')
  if (error !== null && !saysNoEnd) return readFailure(error.value, provider)
  if (!isWhole(finish)) {
    const why = `${provider} ended the connection before the answer was whole`
    return fail('connection_lost', why, true)
  }
  if (finish?.unified === 'content-filter') {
    return fail('refused', `The model refuses to answer: ${provider} has filtered the answer`)
  }
  if (toolCallsOf(message).length > 0) return null
  if (finish?.unified === 'length') {
    const why = 'The answer is longer than the model may write at once, and so it is not whole'
    return fail('answer_too_long', why)
  }
  const isEmpty = textOf(message).trim() === ''
  return isEmpty ? fail('empty_answer', 'The model ended without an answer') : null
}

/**
 * Whether the server has said that its answer is whole: a connection that ends says nothing of it, and the library
 * then gives a reason that is none. OpenRouter ends a stream with `error` whose model has failed.
 */
function isWhole(finish: LanguageModelV3FinishReason | null): boolean {
  if (finish === null || finish.raw === 'error') return false
  return finish.raw !== undefined || ['stop', 'tool-calls'].includes(finish.unified)
}

type StreamedCall = Extract<LanguageModelV3StreamPart, { type: 'tool-call' }>

function readCall({ toolCallId, toolName, input, providerMetadata }: StreamedCall): ToolCall {
  const call: ToolCall = { type: 'tool_call', id: toolCallId, name: toolName, input: null }
  addOpaque(call, providerMetadata)
  try {
    const value: unknown = input.trim() === '' ? {} : JSON.parse(input)
    if (isObject(value)) return { ...call, input: value }
  } catch {
    // The model is told of it, and mends it.
  }
  return { ...call, raw: input }
}

/** What a later piece says of a part is added to what an earlier one has said. */
function addOpaque(part: { opaque?: Opaque }, metadata: Opaque | undefined): void {
  if (metadata === undefined) return
  const merged: Record<string, unknown> = { ...part.opaque }
  for (const [name, value] of Object.entries(metadata)) {
    merged[name] = { ...(merged[name] as object), ...(value as object) }
  }
  if (Object.keys(merged).length > 0) part.opaque = merged
}

function costOf(usage: LanguageModelV3Usage | null, price: Price | null): Usage {
  if (usage === null) return noUsage
  const { total: input = 0, cacheRead = 0, cacheWrite = 0 } = usage.inputTokens
  const output = usage.outputTokens.total ?? 0
  const counted = { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead }
  // OpenRouter tells what it takes.
  const told: unknown = usage.raw?.['cost']
  if (typeof told === 'number') return { ...counted, costUsd: told }
  if (price === null) return { ...counted, costUsd: null }
  const fresh = Math.max(0, input - cacheRead - cacheWrite)
  const costUsd =
    (fresh * price.input +
      cacheRead * price.cacheRead +
      cacheWrite * price.cacheWrite +
      output * price.output) /
    1e6
  return { ...counted, costUsd }
}
