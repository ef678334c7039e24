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

/** By name. */
export type ConfiguredProviders = Readonly<Record<string, ConfiguredProvider>>
