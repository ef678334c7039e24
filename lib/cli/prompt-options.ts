import { contradiction } from '../protocol/errors.ts'
import type { PromptOptions } from '../protocol/print-options.ts'

/** Throws `MisuseError` where two of the options contradict each other. */
export function readPromptOptions(options: Readonly<Record<string, unknown>>): PromptOptions {
  const maxSteps = options['max-steps'] ?? null
  const maxCost = options['max-cost'] ?? null
  if (options['continue'] === true && options['resume'] !== undefined) {
    throw contradiction('--continue', '--resume')
  }
  const allow = (options['allow'] ?? []) as string[]
  return {
    model: readModel(options),
    outputSchema: (options['output-schema'] ?? null) as string | null,
    continue: options['continue'] === true,
    resume: (options['resume'] ?? null) as string | null,
    keep: options['session'] !== false,
    maxSteps: maxSteps as number | null,
    maxCostUsd: maxCost as number | null,
    yes: options['yes'] === true,
    allow: allow.map((match) => ({ name: `--allow ${match}`, match, decision: 'allow' })),
  }
}

/** `--provider x --model y` is `x/y`; a provider alone means its usual model. */
function readModel(options: Readonly<Record<string, unknown>>): string | null {
  const { model, provider } = options as { model?: string; provider?: string }
  if (provider === undefined) return model ?? null
  return model === undefined || model.startsWith(`${provider}/`)
    ? (model ?? provider)
    : `${provider}/${model}`
}
