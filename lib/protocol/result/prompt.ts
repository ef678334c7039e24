import * as shape from '../shape/shape.ts'
import { failureShape } from './result.ts'

const { anyText, anything, boolean, choice, integer, list, nullable, number, object } = shape

/** What the requests to a model used. */
export const modelUsageShape = object({
  /** What was read from the cache counts too. */
  inputTokens: integer(),
  outputTokens: integer(),
  cacheReadTokens: integer(),
  /** Null where the price of the model is not known. */
  costUsd: nullable(number('', { min: 0 })),
})

/** How a prompt ended, as data; the same in every door. */
export const promptResult = {
  type: choice(['result']),
  status: choice(['answered', 'failed', 'cancelled', 'limit']),
  text: anyText('The answer; empty where there is none that is whole'),
  /** What the answer holds, where it had to meet a schema. */
  data: anything(),
  steps: integer('How often the model was asked'),
  runs: list(anyText(), 'Ids of the runs that it started'),
  jobs: list(
    object({ id: anyText(), command: anyText(), livesOn: boolean() }),
    'Its jobs that go on; one that does not live on ends with nacre',
  ),
  usage: modelUsageShape,
  /** `provider/name`; null where there is none. */
  model: nullable(anyText()),
  conversationId: anyText(),
  durationMs: number('', { min: 0 }),
  /** Why there is no answer. */
  error: nullable(failureShape),
}

export interface PromptResult extends shape.InferFields<typeof promptResult> {}
