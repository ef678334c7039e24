import type { ConfiguredProviders } from '../protocol/configuration.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { Environment } from './models/providers.ts'

/** What an agent works with: plain values, read once by whoever starts nacre. */
export interface AgentSettings {
  /** `provider/name`; null: look for one. */
  model: string | null
  providers: ConfiguredProviders
  environment: Environment
  /** Where its commands begin. */
  cwd: string
  /** Null: the git root above the directory in which a conversation begins, else that directory. */
  workspace: string | null
  /** Holds the user's own `AGENTS.md`; null: none is read. */
  userFolder: string | null
  /** Holds the conversations; null: none is kept. */
  conversationFolder: string | null
  /** The sandbox of its commands: as configured, or where that says nothing as far as there is one. */
  sandbox: NonNullable<RequestInput['sandbox']>
  limits: PromptLimits
  /** The questions of the guard are answered with yes. */
  saysYes: boolean
}

/** What ends a prompt before its answer; null: nothing does. */
export interface PromptLimits {
  maxSteps: number
  maxCostUsd: number | null
  timeoutMs: number | null
}

export const usualMaxSteps = 50
