import type { ConfiguredProviders } from '../../protocol/configuration.ts'
import { messageOf } from '../../protocol/errors.ts'
import { isObject } from '../../protocol/shape/shape.ts'
import { createModel } from './client.ts'
import { ModelError } from './failure.ts'
import type { Model } from './model.ts'
import { type Environment, findProvider, listProviders, type Provider } from './providers.ts'

const noModelMessage =
  'No model is set: name one with --model provider/name (or NACRE_MODEL, or "model" in the ' +
  'configuration), or set the key of a provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY. ' +
  "Commands work without one: nacre -p '!<command>'"

/** What a model is chosen by. */
export interface ModelSettings {
  /** `provider/name`; null: look for one. */
  model: string | null
  providers: ConfiguredProviders
  environment: Environment
}

/** How long a server on this machine may take to say which models it has. */
const localAnswerMs = 500
/** How long a provider elsewhere may take to say so. */
const listAnswerMs = 10_000

/**
 * The model that is named, else that of the first provider with a key, else the first one of a server
 * on this machine. Rejects with `ModelError`.
 */
export async function chooseModel(settings: ModelSettings): Promise<Model> {
  const { model, environment } = settings
  const providers = listProviders(settings.providers, environment)
  if (model !== null) return openNamed(model, providers)
  const keyed = providers.find(({ key }) => key !== null)
  if (keyed) return openUsual(keyed)
  const locals = providers.filter(({ isLocal }) => isLocal)
  const lists = await Promise.all(locals.map(tryList))
  const at = lists.findIndex(([name]) => name !== undefined)
  const [found, name] = [locals[at], lists[at]?.[0]]
  if (!found || name === undefined) throw new ModelError('no_model', noModelMessage)
  return createModel(found, name)
}

async function openNamed(model: string, providers: readonly Provider[]): Promise<Model> {
  const slash = model.indexOf('/')
  const provider = findProvider(providers, slash < 0 ? model : model.slice(0, slash))
  requireKey(provider)
  const name = slash < 0 ? '' : model.slice(slash + 1)
  return name === '' ? openUsual(provider) : createModel(provider, name)
}

function requireKey({ name, keyEnv, key }: Provider): void {
  if (keyEnv === null || key !== null) return
  throw new ModelError('no_key', `The provider \`${name}\` needs a key: set ${keyEnv}`)
}

async function openUsual(provider: Provider): Promise<Model> {
  const name = provider.usualModel ?? (await listModels(provider))[0]
  if (name !== undefined) return createModel(provider, name)
  throw new ModelError(
    'no_model',
    `The provider \`${provider.name}\` lists no model; name one: --model ${provider.name}/<name>`,
  )
}

/** The models of all providers that can be asked: those with a key, and those that need none. */
export async function listAvailableModels(settings: ModelSettings): Promise<string[]> {
  const providers = listProviders(settings.providers, settings.environment)
  const asked = providers.filter(({ key, keyEnv }) => key !== null || keyEnv === null)
  const lists = await Promise.all(
    asked.map(async (it) => (await tryList(it)).map((name) => `${it.name}/${name}`)),
  )
  return lists.flat()
}

/** Where nothing listens, or something else does, there are no models. */
const tryList = (provider: Provider) => listModels(provider).catch(() => [])

/** The names that a provider lists. Rejects with `ModelError`. */
async function listModels({ name, api, baseUrl, key, isLocal }: Provider): Promise<string[]> {
  const headers: Record<string, string> = {}
  if (key !== null && api === 'anthropic') {
    Object.assign(headers, { 'x-api-key': key, 'anthropic-version': '2023-06-01' })
  } else if (key !== null) headers['authorization'] = `Bearer ${key}`
  let body: unknown
  try {
    const signal = AbortSignal.timeout(isLocal ? localAnswerMs : listAnswerMs)
    const response = await fetch(`${baseUrl}/models`, { headers, signal, redirect: 'error' })
    if (!response.ok) throw new Error(`it answers ${response.status}`)
    body = await response.json()
  } catch (error) {
    const why = `The models of \`${name}\` cannot be listed: ${messageOf(error)}`
    throw new ModelError('unavailable', why)
  }
  const data = isObject(body) && Array.isArray(body['data']) ? (body['data'] as unknown[]) : []
  return data.flatMap((item) =>
    isObject(item) && typeof item['id'] === 'string' ? [item['id'].replace(/^models\//, '')] : [],
  )
}
