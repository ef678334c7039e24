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

export interface EnvironmentOptions {
  /** What the run has of nacre's own environment. */
  inherited: Readonly<Record<string, string>>
  /** The path of `false`. */
  refusal: string
  /** The bytes go straight to a terminal: `TERM` and `NO_COLOR` are left alone. */
  toTerminal: boolean
  /** Variables that the person's start files set. Default: none. */
  exports?: ReadonlyMap<string, string> | undefined
  /** Whether the run is not to have one of them. Default: it has all. */
  isWithheld?: (name: string, value: string) => boolean
  /** This nacre: `<pid>:<start time>:<folder of its state>`. */
  owner: string
}

/**
 * The whole environment of a run: nacre's own with what the person's start files set, without secrets if a model
 * chose the command; the hardening if nobody watches, the marks, and over all of it what the caller
 * asked for.
 */
export function buildEnvironment(
  request: Request,
  options: EnvironmentOptions,
): Record<string, string> {
  const environment: Record<string, string> = { ...options.inherited }
  for (const [name, value] of options.exports ?? []) {
    if (!options.isWithheld?.(name, value)) environment[name] = value
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
