import * as shape from './shape/shape.ts'

/** The wire formats in which a model can be asked. */
export const providerApis = ['openai-chat', 'openai-responses', 'anthropic'] as const
export type ProviderApi = (typeof providerApis)[number]

/** A provider of models as the configuration names it: `providers.<name>`. */
export const configuredProviderShape = shape.object(
  {
    api: shape.choice(providerApis, 'The wire format that it speaks'),
    baseUrl: shape.text('Where the paths of the format begin: https://example.com/v1', {
      hint: 'url',
    }),
  },
  { keyEnv: shape.text('The variable that holds its key; without one no key is sent') },
)
export type ConfiguredProvider = shape.Infer<typeof configuredProviderShape>

/** Providers by their names. */
export type ConfiguredProviders = Readonly<Record<string, ConfiguredProvider>>

/** One key of the configuration as a person asks for it: what it is, what it holds, and where that was said. */
export interface ConfiguredKey {
  key: string
  /** In the names of the file; null where nothing sets it. */
  value: unknown
  /** `/home/me/.config/nacre/config.json:3` or `NACRE_TAIL`; of a key that adds up, each place. */
  places: readonly string[]
  description: string
  /** What it may be, in words. */
  wanted: string
  /** Null where no variable of the environment sets it. */
  variable: string | null
  /** What the file of a workspace that is not trusted may do with it. */
  workspace: 'tighten' | 'nothing'
}
