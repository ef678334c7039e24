import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV3,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider'
import type { ProviderApi } from '../../protocol/configuration.ts'
import type { AssistantMessage, Message, Opaque, ToolDescription } from './model.ts'
import type { Provider } from './providers.ts'

/*
 * The clients of the wire formats. They are a megabyte together, so this file is loaded with the first
 * turn of a model and by nothing else.
 */

/** The library's client of one model; it sends nothing before it is asked. */
export function openLanguageModel(
  { api, name, baseUrl, key }: Provider,
  model: string,
): LanguageModelV3 {
  // The library looks for variables of its own if it is given no key at all.
  const common = { baseURL: baseUrl, apiKey: key ?? 'none', name }
  switch (api) {
    case 'anthropic':
      return createAnthropic(common)(model)
    case 'openai-responses':
      return createOpenAI(common).responses(model)
    case 'openai-chat':
      return createOpenAICompatible({
        baseURL: baseUrl,
        name,
        includeUsage: true,
        ...(key !== null && { apiKey: key }),
      })(model)
  }
}

/** The marks that let Anthropic cache everything up to a message; others cache by themselves. */
const cached: SharedV3ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** So many of the newest messages are marked: the end of this request is the middle of the next. */
const cachedMessages = 2

interface PromptParts {
  system: string
  messages: readonly Message[]
  api: ProviderApi
  /** `provider/name` of the model that is asked. */
  modelId: string
}

/** A conversation as the library takes it. */
export function writePrompt({
  system,
  messages,
  api,
  modelId,
}: PromptParts): LanguageModelV3Message[] {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const written = messages.map((message, index): LanguageModelV3Message => {
    const isMarked = api === 'anthropic' && index >= messages.length - cachedMessages
    const marks = isMarked ? { providerOptions: cached } : {}
    switch (message.role) {
      case 'user':
        return { role: 'user', content: [{ type: 'text', text: message.text }], ...marks }
      case 'assistant': {
        const isOwn = message.model === modelId
        // Of the older interface, servers want reasoning back within a turn only, if at all.
        const withReasoning = isOwn && (api !== 'openai-chat' || index > question)
        return { role: 'assistant', content: writeParts(message, isOwn, withReasoning), ...marks }
      }
      case 'tool':
        return {
          role: 'tool',
          content: message.replies.map(({ callId, name, text, isError }) => ({
            type: 'tool-result',
            toolCallId: callId,
            toolName: name,
            output: { type: isError ? 'error-text' : 'text', value: text },
          })),
          ...marks,
        }
    }
  })
  const head: LanguageModelV3Message = { role: 'system', content: system }
  if (api === 'anthropic') head.providerOptions = cached
  return [head, ...written]
}

type AssistantContent = Extract<LanguageModelV3Message, { role: 'assistant' }>['content']

function writeParts(
  { parts, interrupted }: AssistantMessage,
  isOwn: boolean,
  withReasoning: boolean,
): AssistantContent {
  const content = parts.flatMap((part): AssistantContent => {
    const options = isOwn ? writeOpaque(part.opaque) : {}
    if (part.type === 'reasoning') {
      return withReasoning ? [{ type: 'reasoning', text: part.text, ...options }] : []
    }
    if (part.type === 'text') return [{ type: 'text', text: part.text, ...options }]
    const { id, name, input } = part
    return [{ type: 'tool-call', toolCallId: id, toolName: name, input: input ?? {}, ...options }]
  })
  if (interrupted) content.push({ type: 'text', text: '[The user broke the answer off here.]' })
  return content
}

function writeOpaque(opaque: Opaque | undefined): Pick<AssistantContent[0], 'providerOptions'> {
  return opaque === undefined ? {} : { providerOptions: opaque as SharedV3ProviderOptions }
}

export function writeTools(tools: readonly ToolDescription[]): LanguageModelV3FunctionTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema: inputSchema as unknown as LanguageModelV3FunctionTool['inputSchema'],
  }))
}
