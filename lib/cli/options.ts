import { MisuseError, contradiction } from '../protocol/errors.ts'
import type { RequestInput, RunFields } from '../protocol/request/request.ts'
import { runFlags } from './flags.ts'
import { optionKey } from './parse-argv.ts'
import { shellOptionList } from './shell-flags.ts'
import type { PromptOptions } from '../protocol/prompt.ts'

/** What says where and how all commands run, those of a model too. */
const placeFields = [
  'cwd',
  'env',
  'sandbox',
  'network',
  'workspace',
  'shell',
  'login',
  'guard',
  'hardening',
] as const

/** Those options of one run that hold for every other run of the same nacre. */
export function placeOptions(run: RunFields): RunFields {
  return Object.fromEntries(
    placeFields.flatMap((name) => (run[name] === undefined ? [] : [[name, run[name]]])),
  )
}

/** The fields of a request that the flags of a command line set. */
export function readRunOptions(options: Readonly<Record<string, unknown>>): RunFields {
  const read: Record<string, unknown> = {}
  for (const flag of runFlags) {
    const given = options[optionKey(flag)]
    // `false` is the other side, `--no-session`, which speaks of something else.
    if (given === undefined || flag.field === undefined) continue
    if (flag.shape !== null && given === false) continue
    if (flag.shape?.kind === 'record') read[flag.field] = parseAssignments(given as string[])
    else read[flag.field] = flag.shape === null ? flag.value : given
  }
  return read
}

function parseAssignments(texts: string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf('=')
      if (equals > 0) return [text.slice(0, equals), text.slice(equals + 1)]
      throw new MisuseError('wrong_usage', `\`--env\` needs NAME=VALUE, not "${text}"`, 'env')
    }),
  )
}

/** The options of the shell, in their order. */
export function readShellOptions(
  options: Readonly<Record<string, unknown>>,
): Pick<RequestInput, 'shellOptions'> {
  const shellOptions = options[shellOptionList] as string[] | undefined
  return shellOptions === undefined ? {} : { shellOptions }
}

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
