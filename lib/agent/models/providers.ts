import type { ConfiguredProviders, ProviderApi } from '../../protocol/configuration.ts'
import { nearestName } from '../../protocol/wire.ts'
import { ModelError } from './failure.ts'

export interface Provider {
  name: string
  api: ProviderApi
  baseUrl: string
  /** Null: it asks for no key. */
  keyEnv: string | null
  /** The value of that variable; null where it is not set. */
  key: string | null
  /** The model that is meant where only the provider is named; null: the first that it lists. */
  usualModel: string | null
  /** A server on this machine: it costs nothing, and is looked for when nothing else is set. */
  isLocal: boolean
  /** A connection on which nothing comes for so long counts as lost. */
  idleMs: number
}

/** A server on this machine may read a long prompt, or load its model, in silence. */
const chooseIdleMs = (isLocal: boolean) => (isLocal ? 300_000 : 120_000)

interface Row {
  api: ProviderApi
  baseUrl: string
  keyEnv?: string
  /** The variable that names another place. */
  baseEnv?: string
  usualModel?: string
  isLocal?: boolean
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
    api: 'openai-chat',
    baseUrl: 'https://openrouter.ai/api/v1',
    keyEnv: 'OPENROUTER_API_KEY',
    baseEnv: 'OPENROUTER_BASE_URL',
    usualModel: 'anthropic/claude-sonnet-4.5',
  },
  google: {
    api: 'openai-chat',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    keyEnv: 'GEMINI_API_KEY',
    usualModel: 'gemini-2.5-pro',
  },
  mistral: {
    api: 'openai-chat',
    baseUrl: 'https://api.mistral.ai/v1',
    keyEnv: 'MISTRAL_API_KEY',
    usualModel: 'mistral-large-latest',
  },
  groq: {
    api: 'openai-chat',
    baseUrl: 'https://api.groq.com/openai/v1',
    keyEnv: 'GROQ_API_KEY',
    usualModel: 'openai/gpt-oss-120b',
  },
  deepseek: {
    api: 'openai-chat',
    baseUrl: 'https://api.deepseek.com/v1',
    keyEnv: 'DEEPSEEK_API_KEY',
    usualModel: 'deepseek-chat',
  },
  xai: {
    api: 'openai-chat',
    baseUrl: 'https://api.x.ai/v1',
    keyEnv: 'XAI_API_KEY',
    usualModel: 'grok-4',
  },
  ollama: {
    api: 'openai-chat',
    baseUrl: 'http://127.0.0.1:11434/v1',
    baseEnv: 'OLLAMA_HOST',
    isLocal: true,
  },
  'llama.cpp': { api: 'openai-chat', baseUrl: 'http://127.0.0.1:8080/v1', isLocal: true },
  vllm: { api: 'openai-chat', baseUrl: 'http://127.0.0.1:8000/v1', isLocal: true },
  lmstudio: { api: 'openai-chat', baseUrl: 'http://127.0.0.1:1234/v1', isLocal: true },
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Every provider that can be named here; what is configured goes first, and over a known name. */
export function listProviders(
  configured: ConfiguredProviders,
  environment: Environment,
): Provider[] {
  const named = Object.entries(configured).map(([name, { api, baseUrl, keyEnv }]): Provider => {
    const url = completeUrl(baseUrl)
    // With a key it may be a door to a provider that wants money.
    const isHere = /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(url)
    const isLocal = isHere && keyEnv === undefined
    const key = keyEnv === undefined ? null : (environment[keyEnv] ?? null)
    const common = { keyEnv: keyEnv ?? null, key, usualModel: null, isLocal }
    return { name, api, baseUrl: url, ...common, idleMs: chooseIdleMs(isHere) }
  })
  const known = Object.entries(table)
    .filter(([name]) => !Object.hasOwn(configured, name))
    .map(([name, row]) => readRow(name, row, environment))
  return [...named, ...known]
}

function readRow(name: string, row: Row, environment: Environment): Provider {
  const other = row.baseEnv === undefined ? '' : (environment[row.baseEnv] ?? '')
  // Most servers that stand in for OpenAI know its older interface only.
  const api = name === 'openai' && other !== '' ? 'openai-chat' : row.api
  return {
    name,
    api,
    baseUrl: other === '' ? row.baseUrl : completeUrl(other, api === 'anthropic'),
    keyEnv: row.keyEnv ?? null,
    key: row.keyEnv === undefined ? null : environment[row.keyEnv] || null,
    usualModel: row.usualModel ?? null,
    isLocal: row.isLocal ?? false,
    idleMs: chooseIdleMs(row.isLocal ?? false),
  }
}

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
