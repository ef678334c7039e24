/** US dollars for a million tokens. */
export interface Price {
  input: number
  output: number
  cacheRead: number
  /** Writing to the cache; where a provider takes nothing extra for it, the same as `input`. */
  cacheWrite: number
}

interface Facts {
  /** How the names of its models begin. */
  starts: string
  /** The prices of input, output, reading from the cache, and writing to it. */
  price: readonly [number, number, number, number]
  contextTokens: number
}

/**
 * The published list prices and context sizes of November 2025, the longest beginning first where one
 * name begins with another. A model that is not here has no known price.
 */
const facts: readonly Facts[] = [
  { starts: 'claude-opus-4-5', price: [5, 25, 0.5, 6.25], contextTokens: 200_000 },
  { starts: 'claude-opus-4-1', price: [15, 75, 1.5, 18.75], contextTokens: 200_000 },
  { starts: 'claude-opus-4-0', price: [15, 75, 1.5, 18.75], contextTokens: 200_000 },
  { starts: 'claude-opus-4-2025', price: [15, 75, 1.5, 18.75], contextTokens: 200_000 },
  { starts: 'claude-sonnet-4', price: [3, 15, 0.3, 3.75], contextTokens: 200_000 },
  { starts: 'claude-haiku-4', price: [1, 5, 0.1, 1.25], contextTokens: 200_000 },
  { starts: 'claude-3-7-sonnet', price: [3, 15, 0.3, 3.75], contextTokens: 200_000 },
  { starts: 'claude-3-5-sonnet', price: [3, 15, 0.3, 3.75], contextTokens: 200_000 },
  { starts: 'claude-3-5-haiku', price: [0.8, 4, 0.08, 1], contextTokens: 200_000 },
  { starts: 'gpt-5-pro', price: [15, 120, 15, 15], contextTokens: 400_000 },
  { starts: 'gpt-5-nano', price: [0.05, 0.4, 0.005, 0.05], contextTokens: 400_000 },
  { starts: 'gpt-5-mini', price: [0.25, 2, 0.025, 0.25], contextTokens: 400_000 },
  { starts: 'gpt-5.1-codex-mini', price: [0.25, 2, 0.025, 0.25], contextTokens: 400_000 },
  { starts: 'gpt-5.1', price: [1.25, 10, 0.125, 1.25], contextTokens: 400_000 },
  { starts: 'gpt-5', price: [1.25, 10, 0.125, 1.25], contextTokens: 400_000 },
  { starts: 'gpt-4.1-nano', price: [0.1, 0.4, 0.025, 0.1], contextTokens: 1_047_576 },
  { starts: 'gpt-4.1-mini', price: [0.4, 1.6, 0.1, 0.4], contextTokens: 1_047_576 },
  { starts: 'gpt-4.1', price: [2, 8, 0.5, 2], contextTokens: 1_047_576 },
  { starts: 'gpt-4o-mini', price: [0.15, 0.6, 0.075, 0.15], contextTokens: 128_000 },
  { starts: 'gpt-4o', price: [2.5, 10, 1.25, 2.5], contextTokens: 128_000 },
  { starts: 'o4-mini', price: [1.1, 4.4, 0.275, 1.1], contextTokens: 200_000 },
  { starts: 'o3-mini', price: [1.1, 4.4, 0.55, 1.1], contextTokens: 200_000 },
  { starts: 'o3-pro', price: [20, 80, 20, 20], contextTokens: 200_000 },
  { starts: 'o3', price: [2, 8, 0.5, 2], contextTokens: 200_000 },
]

/** What is known of a model, by its name without the provider; null where nothing is. */
export function findFacts(model: string): { price: Price; contextTokens: number } | null {
  // OpenRouter writes `anthropic/claude-sonnet-4.5`.
  const name = model.slice(model.lastIndexOf('/') + 1)
  const spelled = name.startsWith('claude') ? name.replaceAll('.', '-') : name
  const found = facts.find(({ starts }) => spelled.startsWith(starts))
  if (!found) return null
  const [input, output, cacheRead, cacheWrite] = found.price
  return {
    price: { input, output, cacheRead, cacheWrite },
    contextTokens: found.contextTokens,
  }
}
