import type { Request } from '../protocol/request/request.ts'
import { markVariable, ownerVariable } from '../system/process/own-process.ts'
import { findProgram, systemPath } from '../system/look.ts'

/** Programs that nobody watches get these: no pager, no editor, no question, no progress display. */
export const hardening: Readonly<Record<string, string>> = {
  // Pagers: their text goes straight to the output.
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  MANPAGER: 'cat',
  SYSTEMD_PAGER: 'cat',
  BAT_PAGER: 'cat',
  DELTA_PAGER: 'cat',
  GH_PAGER: 'cat',
  GLAB_PAGER: 'cat',
  PSQL_PAGER: 'cat',
  MYSQL_PAGER: 'cat',
  HOMEBREW_PAGER: 'cat',
  AWS_PAGER: '',
  LESS: 'FRX',
  // Editors: what was there is kept.
  EDITOR: 'true',
  VISUAL: 'true',
  GIT_EDITOR: 'true',
  GIT_SEQUENCE_EDITOR: 'true',
  // Credentials: asking fails at once.
  GIT_TERMINAL_PROMPT: '0',
  GCM_INTERACTIVE: 'never',
  GH_PROMPT_DISABLED: '1',
  // Automation.
  CI: '1',
  DEBIAN_FRONTEND: 'noninteractive',
  npm_config_yes: 'true',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  npm_config_progress: 'false',
  PNPM_DISABLE_SELF_UPDATE_CHECK: 'true',
  PNPM_UPDATE_NOTIFIER: 'false',
  YARN_ENABLE_TELEMETRY: '0',
  YARN_ENABLE_PROGRESS_BARS: '0',
  CARGO_TERM_PROGRESS_WHEN: 'never',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  TF_INPUT: '0',
  TF_IN_AUTOMATION: '1',
  COMPOSER_NO_INTERACTION: '1',
  CLOUDSDK_CORE_DISABLE_PROMPTS: '1',
  PYTHONUNBUFFERED: '1',
}

/** Set to the path of `false`, which answers every question with no. */
export const askPrograms = ['SSH_ASKPASS', 'SUDO_ASKPASS']

/** Without a terminal of its own. */
export const plainTerminal: Readonly<Record<string, string>> = { TERM: 'dumb', NO_COLOR: '1' }

/**
 * The variables that hold the keys of model providers, as their own documentation names them. A person's
 * command may need them; a command that a model chose never does, and could give them away.
 */
const modelKeys: readonly string[] = [
  // OpenAI, and Azure's OpenAI.
  ...['OPENAI_API_KEY', 'OPENAI_ADMIN_KEY', 'AZURE_OPENAI_API_KEY', 'AZURE_OPENAI_AD_TOKEN'],
  ...['AZURE_API_KEY', 'AZURE_AI_API_KEY', 'AZURE_INFERENCE_CREDENTIAL'],
  // Anthropic, by key and by the tokens of its own agent.
  ...['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_ADMIN_KEY'],
  ...['CLAUDE_CODE_OAUTH_TOKEN', 'CLAUDE_API_KEY'],
  // Google.
  ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_GENAI_API_KEY'],
  // Amazon's Bedrock has a key of its own; the account's keys are for all of AWS.
  'AWS_BEARER_TOKEN_BEDROCK',
  ...['OPENROUTER_API_KEY', 'GROQ_API_KEY', 'MISTRAL_API_KEY', 'CODESTRAL_API_KEY'],
  ...['DEEPSEEK_API_KEY', 'XAI_API_KEY', 'GROK_API_KEY', 'COHERE_API_KEY', 'CO_API_KEY'],
  ...['TOGETHER_API_KEY', 'TOGETHERAI_API_KEY', 'FIREWORKS_API_KEY', 'PERPLEXITY_API_KEY'],
  ...['CEREBRAS_API_KEY', 'SAMBANOVA_API_KEY', 'DEEPINFRA_API_KEY', 'NVIDIA_API_KEY'],
  ...['REPLICATE_API_TOKEN', 'HF_TOKEN', 'HUGGINGFACE_API_KEY', 'HUGGING_FACE_HUB_TOKEN'],
  ...['AI_GATEWAY_API_KEY', 'MOONSHOT_API_KEY', 'DASHSCOPE_API_KEY', 'QWEN_API_KEY'],
  ...['ZAI_API_KEY', 'ZHIPUAI_API_KEY', 'MINIMAX_API_KEY', 'VOYAGE_API_KEY', 'AI21_API_KEY'],
  ...['OLLAMA_API_KEY', 'LITELLM_API_KEY'],
]

export interface EnvironmentOptions {
  /** What the run has of nacre's own environment. */
  inherited: Readonly<Record<string, string>>
  /** The path of `false`. */
  refusal: string
  /** The bytes go straight to a terminal: `TERM` and `NO_COLOR` are left alone. */
  toTerminal: boolean
  /** Variables that the person's start files set. Default: none. */
  exports?: ReadonlyMap<string, string> | undefined
  /** Those of them that the run is not to have. */
  hidden: ReadonlySet<string>
  /** This nacre: `<pid>:<start time>:<folder of its state>`. */
  owner: string
}

/**
 * The whole environment of a run: nacre's own with what the person's start files set, without the keys
 * of model providers where a model chose the command; the hardening where nobody watches, the marks, and
 * over all of it what the caller asked for.
 */
export function buildEnvironment(
  request: Request,
  options: EnvironmentOptions,
): Record<string, string> {
  const environment: Record<string, string> = { ...options.inherited }
  for (const [name, value] of options.exports ?? []) {
    if (!options.hidden.has(name)) environment[name] = value
  }
  if (request.hardening) {
    Object.assign(environment, listHardening(options.refusal, !request.pty && !options.toTerminal))
  }
  if (request.pty) {
    const known = environment['TERM']
    // What a person's own terminal cannot do, no program of theirs is to try.
    const isUsed = known !== undefined && (known !== 'dumb' || request.origin === 'repl')
    environment['TERM'] = isUsed ? known : 'xterm-256color'
  }
  Object.assign(environment, {
    NACRE: '1',
    [markVariable]: request.id,
    [ownerVariable]: options.owner,
    PWD: request.cwd,
  })
  return Object.assign(environment, request.env)
}

/** The path of `false` on this machine. */
export const findRefusal = (): string => findProgram('false', systemPath) ?? '/bin/false'

/** The variables of a program that nobody watches. `refusal`: the path of `false`; `isPlain`: without a terminal. */
export function listHardening(refusal: string, isPlain: boolean): Record<string, string> {
  return {
    ...hardening,
    ...Object.fromEntries(askPrograms.map((name) => [name, refusal])),
    ...(isPlain && plainTerminal),
  }
}

/** The variables that hold keys of model providers: those that are known, and others that the configuration names. */
export function nameKeys(others: readonly string[] = []): ReadonlySet<string> {
  return new Set([...modelKeys, ...others])
}
