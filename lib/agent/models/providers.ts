import type { ConfiguredProviders, ProviderApi } from '../../protocol/configuration.ts'
import { nearestName } from '../../protocol/wire.ts'
import { ModelError } from './failure.ts'

export interface Provider {
  name: string
  api: ProviderApi
  baseUrl: string
  /** Null: it asks for no key. */
  keyEnv: string | null
  /** The value of that variable; null if it is not set. */
  key: string | null
  /** The model that is meant if only the provider is named; null: the first that it lists. */
  usualModel: string | null
  /** A server on this machine: it costs nothing, and is looked for when nothing else is set. */
  isLocal: boolean
  /** A connection on which nothing comes for so long counts as lost. */
  idleMs: number
}

const googleApi = 'https://generativelanguage.googleapis.com'

/** A row without a variable for its key is a server on this machine. */
type Row = readonly [name: string, baseUrl: string, keyEnv?: string, usualModel?: string]

/** The known providers, in the order in which a key, or a local server, is looked for. */
const table: readonly Row[] = [
  ['openai', 'https://api.openai.com/v1', 'OPENAI_API_KEY', 'gpt-5.1'],
  ['anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY', 'claude-sonnet-4-5'],
  [
    'openrouter',
    'https://openrouter.ai/api/v1',
    'OPENROUTER_API_KEY',
    'anthropic/claude-sonnet-4.5',
  ],
  ['google', `${googleApi}/v1beta/openai`, 'GEMINI_API_KEY', 'gemini-2.5-pro'],
  ['mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', 'mistral-large-latest'],
  ['groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY', 'openai/gpt-oss-120b'],
  ['deepseek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', 'deepseek-chat'],
  ['xai', 'https://api.x.ai/v1', 'XAI_API_KEY', 'grok-4'],
  ['ollama', 'http://127.0.0.1:11434/v1'],
  ['llama.cpp', 'http://127.0.0.1:8080/v1'],
  ['vllm', 'http://127.0.0.1:8000/v1'],
  ['lmstudio', 'http://127.0.0.1:1234/v1'],
]

/** The variables that name another place of a provider. */
const placeVariables: Readonly<Record<string, string>> = {
  openai: 'OPENAI_BASE_URL',
  anthropic: 'ANTHROPIC_BASE_URL',
  openrouter: 'OPENROUTER_BASE_URL',
  ollama: 'OLLAMA_HOST',
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Every provider that can be named here; what is configured goes first, and over a known name. */
export function listProviders(
  configured: ConfiguredProviders,
  environment: Environment,
): Provider[] {
  const named = Object.entries(configured).map(([name, { api, baseUrl, keyEnv }]) => {
    const url = completeUrl(baseUrl)
    return complete(
      { name, api, baseUrl: url, keyEnv: keyEnv ?? null, usualModel: null },
      isHere(url),
    )
  })
  const known = table
    .filter(([name]) => !Object.hasOwn(configured, name))
    .map(([name, usualUrl, keyEnv, usualModel]) => {
      const other = environment[placeVariables[name] ?? ''] ?? ''
      const baseUrl = other === '' ? usualUrl : completeUrl(other, name === 'anthropic')
      // Most servers that stand in for OpenAI know its older interface only.
      const isOpenAi = name === 'openai' && other === ''
      const api = name === 'anthropic' ? name : isOpenAi ? 'openai-responses' : 'openai-chat'
      const given = { keyEnv: keyEnv ?? null, usualModel: usualModel ?? null }
      return complete({ name, api, baseUrl, ...given }, keyEnv === undefined)
    })
  return [...named, ...known]

  function complete(
    given: Omit<Provider, 'key' | 'isLocal' | 'idleMs'>,
    isServedHere: boolean,
  ): Provider {
    const { keyEnv } = given
    return {
      ...given,
      key: keyEnv === null ? null : environment[keyEnv] || null,
      // With a key it may be a door to a provider that wants money.
      isLocal: isServedHere && keyEnv === null,
      // A server on this machine may read a long prompt, or load its model, in silence.
      idleMs: isServedHere ? 300_000 : 120_000,
    }
  }
}

const isHere = (url: string) => /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(url)

/**
 * `localhost:11434` → `http://localhost:11434/v1`. Anthropic's own clients take an address without
 * `/v1`, so there it is added to any path.
 */
function completeUrl(given: string, always = false): string {
  const whole = /^https?:\/\//.test(given) ? given : `http://${given}`
  const url = whole.replace(/\/+$/, '').replace('//0.0.0.0', '//127.0.0.1')
  const hasPath = /^https?:\/\/[^/]+\//.test(url)
  return (always ? url.endsWith('/v1') : hasPath) ? url : `${url}/v1`
}

/** Throws `ModelError`, which names the provider. */
export function findProvider(providers: readonly Provider[], name: string): Provider {
  const found = providers.find((provider) => provider.name === name)
  if (found) return found
  const names = providers.map((provider) => provider.name)
  const nearest = nearestName(name, names)
  const hint =
    nearest === null
      ? `known are ${names.join(', ')}, and any that the configuration names under "providers"`
      : `did you mean \`${nearest}\`?`
  throw new ModelError('unknown_provider', `Unknown provider \`${name}\`; ${hint}`)
}

/** Every variable that may hold a key: no command of a model gets one. */
export function keyVariables(configured: ConfiguredProviders): string[] {
  const rows = Object.values(configured).map(({ keyEnv }) => keyEnv)
  return [...table.map(([, , keyEnv]) => keyEnv), ...rows].filter((name) => name !== undefined)
}

/** US dollars for a million tokens. */
export interface Price {
  input: number
  output: number
  cacheRead: number
  /** Writing to the cache; if a provider takes nothing extra for it, the same as `input`. */
  cacheWrite: number
}

/** The list prices (input, output, reading from the cache, writing to it) and context sizes of November 2025. */
const facts: readonly [
  names: string,
  ...price: [number, number, number, number],
  context: number,
][] = [
  ['claude-opus-4-5', 5, 25, 0.5, 6.25, 200_000],
  ['claude-opus-4 claude-opus-4-0 claude-opus-4-1', 15, 75, 1.5, 18.75, 200_000],
  ['claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-5', 3, 15, 0.3, 3.75, 200_000],
  ['claude-3-7-sonnet claude-3-5-sonnet', 3, 15, 0.3, 3.75, 200_000],
  ['claude-haiku-4-5', 1, 5, 0.1, 1.25, 200_000],
  ['claude-3-5-haiku', 0.8, 4, 0.08, 1, 200_000],
  ['gpt-5-pro', 15, 120, 15, 15, 400_000],
  ['gpt-5-nano', 0.05, 0.4, 0.005, 0.05, 400_000],
  ['gpt-5-mini gpt-5.1-codex-mini', 0.25, 2, 0.025, 0.25, 400_000],
  ['gpt-5 gpt-5-codex gpt-5.1 gpt-5.1-codex', 1.25, 10, 0.125, 1.25, 400_000],
  ['gpt-4.1-nano', 0.1, 0.4, 0.025, 0.1, 1_047_576],
  ['gpt-4.1-mini', 0.4, 1.6, 0.1, 0.4, 1_047_576],
  ['gpt-4.1', 2, 8, 0.5, 2, 1_047_576],
  ['gpt-4o-mini', 0.15, 0.6, 0.075, 0.15, 128_000],
  ['gpt-4o', 2.5, 10, 1.25, 2.5, 128_000],
  ['o4-mini', 1.1, 4.4, 0.275, 1.1, 200_000],
  ['o3-mini', 1.1, 4.4, 0.55, 1.1, 200_000],
  ['o3-pro', 20, 80, 20, 20, 200_000],
  ['o3', 2, 8, 0.5, 2, 200_000],
]

/** What is known of a model, by its name with or without a date; null if nothing is. */
export function findFacts(model: string): { price: Price; contextTokens: number } | null {
  // OpenRouter writes `anthropic/claude-sonnet-4.5`.
  const name = model.slice(model.lastIndexOf('/') + 1).replace(/-(?:latest|\d{4}-?\d\d-?\d\d)$/, '')
  const spelled = name.startsWith('claude') ? name.replaceAll('.', '-') : name
  const found = facts.find(([names]) => names.split(' ').includes(spelled))
  if (!found) return null
  const [, input, output, cacheRead, cacheWrite, contextTokens] = found
  return { price: { input, output, cacheRead, cacheWrite }, contextTokens }
}
