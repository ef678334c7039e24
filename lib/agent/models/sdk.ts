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
  { api, name, baseUrl, key, idleMs }: Provider,
  model: string,
): LanguageModelV3 {
  // The library looks for variables of its own where it is given no key at all.
  const fetch = fetchWithin(idleMs)
  const common = { baseURL: baseUrl, apiKey: key ?? 'none', name, fetch }
  switch (api) {
    case 'anthropic':
      return createAnthropic(common)(model)
    case 'openai-responses':
      return createOpenAI(common).responses(model)
    case 'openai-chat':
      return createOpenAICompatible({
        baseURL: baseUrl,
        name,
        fetch,
        includeUsage: true,
        ...(key !== null && { apiKey: key }),
      })(model)
  }
}

/** Fails as a lost connection does when nothing comes for so long. The caller aborts its signal in every case. */
function fetchWithin(idleMs: number): typeof fetch {
  return async (input, init) => {
    const silence = new AbortController()
    const error = new Error(`nothing has come for ${idleMs / 1000} s`)
    const lost = Object.assign(error, { code: 'ETIMEDOUT' })
    const idle = setTimeout(() => silence.abort(lost), idleMs)
    const { signal = null } = init ?? {}
    signal?.addEventListener('abort', () => clearTimeout(idle), { once: true })
    const either = AbortSignal.any([silence.signal, signal ?? silence.signal])
    const response = await fetch(input, { ...init, signal: either })
    const heard = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        idle.refresh()
        controller.enqueue(bytes)
      },
    })
    return new Response(response.body?.pipeThrough(heard) ?? null, response)
  }
}
