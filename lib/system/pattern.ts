import { type Context, createContext, Script } from 'node:vm'

/** A pattern that takes fewer steps than this is not watched. */
const maxSteps = 1e7

/** A pattern was still looking when its time was up, or its engine has given up. */
export class SlowPatternError extends Error {}

/**
 * After so long on one text the engine may have given up: that of Bun says "no match" after 1e8 steps, of
 * which none takes less than a nanosecond, whether there is a match or not.
 */
export const engineGivesUpMs = process.versions['bun'] === undefined ? Infinity : 100

/** How long all the patterns of one search may take together. */
export class PatternBudget {
  leftMs: number

  constructor(leftMs: number) {
    this.leftMs = leftMs
  }
}

/**
 * Tests a regular expression that a user wrote, which may need exponential time. The engine cannot
 * be interrupted from outside, except where it runs as a script of its own with a time limit.
 */
export class PatternTester {
  private watched: { readonly script: Script; readonly context: Context } | null = null

  /**
   * Whether one of the texts matches; the expression must not be a sticky or global one.
   * @throws SlowPatternError
   */
  test(regex: RegExp, texts: readonly string[], budget: PatternBudget): boolean {
    const chars = texts.reduce((sum, text) => sum + text.length, 0)
    if (isCheap(regex.source, chars)) return texts.some((text) => regex.test(text))
    if (budget.leftMs < 1) throw new SlowPatternError()
    this.watched ??= {
      script: new Script('texts.some((text) => matches(regex, text))'),
      context: createContext({ matches }),
    }
    const { script, context } = this.watched
    Object.assign(context, { regex, texts })
    const startedMs = performance.now()
    try {
      return script.runInContext(context, { timeout: Math.ceil(budget.leftMs) }) === true
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      throw new SlowPatternError()
    } finally {
      budget.leftMs -= performance.now() - startedMs
    }
  }
}

/** Throws `SlowPatternError` where the engine may have given up. */
function matches(regex: RegExp, text: string): boolean {
  const startedMs = performance.now()
  if (regex.test(text)) return true
  if (performance.now() - startedMs < engineGivesUpMs) return false
  throw new SlowPatternError()
}

/**
 * Whether the pattern can only take few steps: each of its unbounded parts multiplies them by the
 * length of the text, unless one lies in another.
 */
function isCheap(source: string, length: number): boolean {
  if (/\)(?:[*+?]|\{)|\\[1-9k]|\(\?<?[=!]/.test(source)) return false
  const unbounded = source.match(/[*+]|\{\d+,?\d*\}/g)?.length ?? 0
  return Math.max(length, 1) ** (unbounded + 1) <= maxSteps
}
