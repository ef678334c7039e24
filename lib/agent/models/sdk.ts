import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModelV3 } from '@ai-sdk/provider'
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
  // The library looks for variables of its own where it is given no key at all.
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
