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

interface Row {
  /** Default: `openai-chat`. */
  api?: ProviderApi
  baseUrl: string
  /** Without one it is a server on this machine. */
  keyEnv?: string
  /** The variable that names another place. */
  baseEnv?: string
  usualModel?: string
}

/** The known providers, in the order in which a key, or a local server, is looked for. */
const table: Readonly<Record<string, Row>> = {
  openai: {
    api: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    keyEnv: 'OPENAI_API_KEY',
    baseEnv: 'OPENAI_BASE_URL',
    usualModel: 'gpt-5.1',
  },
  anthropic: {
    api: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    keyEnv: 'ANTHROPIC_API_KEY',
    baseEnv: 'ANTHROPIC_BASE_URL',
    usualModel: 'claude-sonnet-4-5',
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    keyEnv: 'OPENROUTER_API_KEY',
    baseEnv: 'OPENROUTER_BASE_URL',
    usualModel: 'anthropic/claude-sonnet-4.5',
  },
  google: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyEnv: 'GEMINI_API_KEY',
    usualModel: 'gemini-2.5-pro',
  },
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    keyEnv: 'MISTRAL_API_KEY',
    usualModel: 'mistral-large-latest',
  },
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    keyEnv: 'GROQ_API_KEY',
    usualModel: 'openai/gpt-oss-120b',
  },
  deepseek: {
    baseUrl: 'https://api.deepseek.com/v1',
    keyEnv: 'DEEPSEEK_API_KEY',
    usualModel: 'deepseek-chat',
  },
  xai: { baseUrl: 'https://api.x.ai/v1', keyEnv: 'XAI_API_KEY', usualModel: 'grok-4' },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', baseEnv: 'OLLAMA_HOST' },
  'llama.cpp': { baseUrl: 'http://127.0.0.1:8080/v1' },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1' },
  lmstudio: { baseUrl: 'http://127.0.0.1:1234/v1' },
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Every provider that can be named here; what is configured goes first, and over a known name. */
export function listProviders(
  configured: ConfiguredProviders,
  environment: Environment,
): Provider[] {
  const named = Object.entries(configured).map(([name, row]) => {
    const baseUrl = completeUrl(row.baseUrl)
    return openRow(name, { ...row, baseUrl }, environment, isHere(baseUrl))
  })
  const known = Object.entries(table)
    .filter(([name]) => !Object.hasOwn(configured, name))
    .map(([name, row]) => {
      const other = row.baseEnv === undefined ? '' : (environment[row.baseEnv] ?? '')
      if (other === '') return openRow(name, row, environment, row.keyEnv === undefined)
      const isAnthropic = row.api === 'anthropic'
      // Most servers that stand in for OpenAI know its older interface only.
      const api: ProviderApi = isAnthropic ? 'anthropic' : 'openai-chat'
      const elsewhere = { ...row, api, baseUrl: completeUrl(other, isAnthropic) }
      return openRow(name, elsewhere, environment, row.keyEnv === undefined)
    })
  return [...named, ...known]
}

/** With a key, a server on this machine may be a door to a provider that wants money. */
function openRow(
  name: string,
  { api = 'openai-chat', baseUrl, keyEnv, usualModel }: Row,
  environment: Environment,
  isServedHere: boolean,
): Provider {
  const key = keyEnv === undefined ? null : environment[keyEnv] || null
  const isLocal = isServedHere && keyEnv === undefined
  // A server on this machine may read a long prompt, or load its model, in silence.
  const idleMs = isServedHere ? 300_000 : 120_000
  const given = { keyEnv: keyEnv ?? null, key, usualModel: usualModel ?? null }
  return { name, api, baseUrl, ...given, isLocal, idleMs }
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
  const rows = [...Object.values(table), ...Object.values(configured)]
  return rows.flatMap(({ keyEnv }) => (keyEnv === undefined ? [] : [keyEnv]))
}

/** US dollars for a million tokens. */
export interface Price {
  input: number
  output: number
  cacheRead: number
  /** Writing to the cache; if a provider takes nothing extra for it, the same as `input`. */
  cacheWrite: number
}

/** The published list prices (input, output, reading from the cache, writing to it) and context sizes of November 2025. */
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
