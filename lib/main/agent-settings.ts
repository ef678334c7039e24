import { originPolicies } from '../protocol/origin.ts'
import { dirname, join, resolve } from 'node:path'
import { type AgentSettings, usualMaxSteps } from '../agent/settings.ts'
import type { PromptOptions } from '../protocol/print-options.ts'
import type { RunFields } from '../protocol/request/request.ts'
import type { Configuration } from '../config/configuration.ts'
import { logicalDirectory, stateDirectory, userConfigFile } from '../config/paths.ts'

/** What is configured and asked for of a model that works here. */
export function agentSettings(
  configuration: Configuration,
  { run, prompt }: { run: RunFields; prompt: PromptOptions },
): AgentSettings {
  const base = logicalDirectory(process.env)
  const cwd = resolve(base, run.cwd ?? configuration.defaults.cwd ?? '.')
  const workspace = run.workspace ?? configuration.defaults.workspace
  const sandbox = run.sandbox ?? configuration.defaults.sandbox ?? originPolicies.agent.sandbox
  const { timeoutSeconds = null } = run
  return {
    model: prompt.model ?? configuration.model,
    providers: configuration.providers,
    environment: { ...process.env },
    cwd,
    workspace: workspace === undefined ? null : resolve(base, workspace),
    userFolder: dirname(userConfigFile(process.env)),
    conversationFolder: prompt.keep ? join(stateDirectory(process.env), 'conversations') : null,
    sandbox: configuration.sandboxMayFallBack && run.sandbox === undefined ? 'auto' : sandbox,
    limits: {
      maxSteps: prompt.maxSteps ?? usualMaxSteps,
      maxCostUsd: prompt.maxCostUsd,
      timeoutMs: timeoutSeconds === null ? null : timeoutSeconds * 1000,
    },
    saysYes: prompt.yes,
  }
}
