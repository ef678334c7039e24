import { isObject } from '../../protocol/shape/shape.ts'
import type { ProviderApi } from '../../protocol/configuration.ts'

/** What the raw messages of a stream tell beside what the library makes of them. */
export interface Completion {
  /** Whether the server has said that its answer is whole. */
  isWhole: boolean
  /** The words of a refusal; empty where there was none. */
  refusal: string
}

/** Follows the raw messages of one answer: a connection that ends says nothing of the answer's end. */
export function createCompletionReader(
  api: ProviderApi,
): { read(raw: unknown): void } & Completion {
  const completion = {
    isWhole: false,
    refusal: '',
    read(raw: unknown): void {
      if (isObject(raw)) readers[api](raw, completion)
    },
  }
  return completion
}

const readers: Readonly<
  Record<ProviderApi, (raw: Record<string, unknown>, completion: Completion) => void>
> = {
  anthropic({ type, delta }, completion) {
    if (type === 'message_stop') completion.isWhole = true
    if (isObject(delta) && delta['stop_reason'] === 'refusal') {
      completion.refusal ||= 'the provider gives no reason'
    }
  },
  'openai-responses'({ type, delta }, completion) {
    const ends = ['response.completed', 'response.incomplete', 'response.failed']
    if (ends.includes(String(type))) completion.isWhole = true
    if (type === 'response.refusal.delta') completion.refusal += String(delta)
  },
  'openai-chat'({ choices }, completion) {
    const [choice] = (Array.isArray(choices) ? choices : []) as Record<string, unknown>[]
    if (!isObject(choice)) return
    const reason = choice['finish_reason']
    // OpenRouter ends a stream so whose model has failed.
    if (reason && reason !== 'error') completion.isWhole = true
    const { delta } = choice
    if (isObject(delta) && typeof delta['refusal'] === 'string') {
      completion.refusal += delta['refusal']
    }
  },
}
