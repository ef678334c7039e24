import { setMaxListeners } from 'node:events'
import type {
  LanguageModelV3,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider'
import { isObject } from '../../protocol/shape/shape.ts'
import { nowMs, pause } from '../../system/clock.ts'
import { createCompletionReader } from './completion.ts'
import { type FailedRequest, readFailure } from './failure.ts'
import {
  addUsage,
  type AssistantMessage,
  type Model,
  type ModelEvent,
  mostTries,
  noUsage,
  type Opaque,
  toolCallsOf,
  type ToolCall,
  textOf,
  type TurnOptions,
  type Usage,
} from './model.ts'
import { findFacts, type Price } from './prices.ts'
import { type GrowingPart, writePrompt, writeTools } from './prompt.ts'
import type { Provider } from './providers.ts'

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
    async *turn(messages, tools, options) {
      opened ??= (await import('./sdk.ts')).openLanguageModel(provider, name)
      const request: StreamRequest = {
        prompt: writePrompt({ ...options, messages, api: provider.api, modelId: id }),
        tools: writeTools(tools),
        // Says exactly when an answer is whole.
        includeRawChunks: true,
        ...(provider.api === 'openai-responses' && {
          // Nothing is kept there; reasoning comes and goes encrypted.
          providerOptions: { openai: { store: false } },
        }),
      }
      yield* turnWithRetries({ model: opened, id, provider, price }, request, options)
    },
  }
}

const free: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

type StreamRequest = Omit<Parameters<LanguageModelV3['doStream']>[0], 'abortSignal'>

interface Asked {
  model: LanguageModelV3
  /** `provider/name`. */
  id: string
  provider: Provider
  price: Price | null
}

async function* turnWithRetries(
  asked: Asked,
  request: StreamRequest,
  { signal }: TurnOptions,
): AsyncGenerator<ModelEvent> {
  let spent = noUsage
  let failingSinceMs: number | null = null
  for (let attempt = 1; ; attempt++) {
    const answer = createAnswer(asked.id)
    let failed: FailedRequest | null = null
    const trying = createTry(signal)
    try {
      const { stream } = await asked.model.doStream({ ...request, abortSignal: trying.signal })
      yield* readStream(stream, answer, asked.provider)
      failed = answer.failure(asked.provider.name)
    } catch (error) {
      failed = readFailure(error, asked.provider.name)
    } finally {
      trying.end()
    }
    spent = addUsage(spent, costOf(answer.usage, asked.price))
    const { message } = answer
    if (signal.aborted) {
      yield { type: 'end', reason: 'cancelled', partial: message, usage: spent }
      return
    }
    if (failed === null) {
      const reason = toolCallsOf(message).length > 0 ? 'tools' : 'answer'
      yield { type: 'end', reason, message, usage: spent }
      return
    }
    const { failure, mayRetry, retryAfterMs } = failed
    const shortestMs = retryAfterMs ?? Math.min(firstDelayMs * 2 ** (attempt - 1), longestDelayMs)
    const delayMs = Math.round(shortestMs * (1 + Math.random() * jitter))
    failingSinceMs ??= nowMs()
    const isNotThere = asked.provider.isLocal && failure.code === 'connection_lost'
    const longestMs = isNotThere ? localPatienceMs : patienceMs
    const isTooLate = nowMs() - failingSinceMs + delayMs > longestMs
    if (!mayRetry || attempt === mostTries || isTooLate) {
      yield { type: 'end', reason: 'failed', partial: message, usage: spent, error: failure }
      return
    }
    const dropped = message.parts.length > 0 ? '; the unfinished answer is dropped' : ''
    yield { type: 'retry', attempt, delayMs, message: failure.message + dropped }
    await pause(delayMs, signal)
  }
}

/** A signal of one try: what its request leaves on it goes with it, and its connection is closed. */
function createTry(signal: AbortSignal): { signal: AbortSignal; end(): void } {
  const controller = new AbortController()
  // Every layer of the client listens to it.
  setMaxListeners(0, controller.signal)
  const abort = () => controller.abort()
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    end() {
      signal.removeEventListener('abort', abort)
      abort()
    },
  }
}

/** An answer as it comes in. */
interface Answer {
  readonly message: AssistantMessage
  usage: LanguageModelV3Usage | null
  completion: ReturnType<typeof createCompletionReader> | null
  finish: string | null
  /** The first error that the stream itself tells. */
  error: { value: unknown } | null
  /** What is wrong with it now that its stream has ended; null where it is whole. */
  failure(provider: string): FailedRequest | null
}

function createAnswer(model: string): Answer {
  const answer: Answer = {
    message: { role: 'assistant', parts: [], model },
    usage: null,
    completion: null,
    finish: null,
    error: null,
    failure(provider) {
      const fail = (code: string, message: string, mayRetry = false): FailedRequest => ({
        failure: { code, message },
        mayRetry,
        retryAfterMs: null,
      })
      const { completion, error, finish, message } = answer
      if (completion?.refusal) {
        return fail('refused', `The model refuses to answer: ${completion.refusal}`)
      }
      // A stream that is not whole may end in an error that only follows from it.
      if (!completion?.isWhole && (error === null || saysNoEnd(error.value))) {
        const why = `${provider} ended the connection before the answer was whole`
        return fail('connection_lost', why, true)
      }
      if (error !== null) return readFailure(error.value, provider)
      if (finish === 'content-filter') {
        return fail('refused', `The model refuses to answer: ${provider} has filtered the answer`)
      }
      if (toolCallsOf(message).length > 0) return null
      if (finish === 'length') {
        return fail(
          'answer_too_long',
          'The answer is longer than the model may write at once, and so it is not whole',
        )
      }
      return textOf(message).trim() === ''
        ? fail('empty_answer', 'The model ended without an answer')
        : null
    },
  }
  return answer
}

function saysNoEnd(error: unknown): boolean {
  return error instanceof Error && error.message.includes('ended without a finish reason')
}

/** Takes a stream into an answer; gives what is told while it comes. */
async function* readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  answer: Answer,
  { api }: Provider,
): AsyncGenerator<ModelEvent> {
  const { parts } = answer.message
  const growing = new Map<string, GrowingPart>()
  const completion = createCompletionReader(api)
  answer.completion = completion
  for await (const part of stream) {
    switch (part.type) {
      case 'raw':
        completion.read(part.rawValue)
        break
      case 'text-start':
      case 'reasoning-start': {
        const type = part.type === 'text-start' ? 'text' : 'reasoning'
        const grown: GrowingPart = { type, text: '' }
        addOpaque(grown, part.providerMetadata)
        parts.push(grown)
        growing.set(`${type} ${part.id}`, grown)
        break
      }
      case 'text-delta':
      case 'reasoning-delta': {
        const type = part.type === 'text-delta' ? 'text' : 'reasoning'
        const grown = growing.get(`${type} ${part.id}`)
        if (!grown) break
        grown.text += part.delta
        addOpaque(grown, part.providerMetadata)
        if (part.delta !== '') yield { type, delta: part.delta }
        break
      }
      case 'text-end':
      case 'reasoning-end': {
        const type = part.type === 'text-end' ? 'text' : 'reasoning'
        const grown = growing.get(`${type} ${part.id}`)
        if (grown) addOpaque(grown, part.providerMetadata)
        break
      }
      case 'tool-call':
        parts.push(readCall(part))
        break
      case 'finish':
        answer.finish = part.finishReason.unified
        answer.usage = part.usage
        break
      case 'error':
        answer.error ??= { value: part.error }
        break
    }
  }
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
