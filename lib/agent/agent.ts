import type { Approve, Executor } from '../executor/executor.ts'
import { findWorkspace } from '../system/look.ts'
import { createConversationStore, type WantedConversation } from './conversations/store.ts'
import { createInjectionQueue, type InjectionQueue } from './injection.ts'
import { chooseModel, listAvailableModels } from './models/choose-model.ts'
import { keyVariables } from './models/providers.ts'
import { AgentSession, type AgentSettings } from './session.ts'

/** What a front door has of the agent: its conversations, and who can answer. */
export type Agent = ReturnType<typeof createAgent>

/** How a conversation is opened. */
export interface OpenOptions extends WantedConversation {
  /** Where its commands begin, in place of the directory of nacre. */
  cwd?: string
  /** Answers the questions of the guard; without it they are denied. */
  approve?: Approve | undefined
  /** Commands of the person that wait for it already. */
  commands?: InjectionQueue | null
}

export function createAgent(executor: Executor, settings: AgentSettings) {
  const conversations = createConversationStore({
    folder: settings.conversationFolder,
    redact: redactKeys(keyVariables(settings.providers), settings.environment),
  })
  return {
    conversations,
    /** Throws `MisuseError` if there is no such conversation. */
    open({ cwd = settings.cwd, approve, commands, ...wanted }: OpenOptions = {}): AgentSession {
      const workspace = settings.workspace ?? findWorkspace(cwd)
      executor.fixWorkspace(workspace)
      return new AgentSession({
        executor,
        settings: { ...settings, cwd, workspace },
        conversation: conversations.open(wanted, cwd),
        approve,
        commands: commands ?? createInjectionQueue(executor),
      })
    },
    /** Every model that can be asked now, as `provider/name`. */
    listModels: () => listAvailableModels(settings),
    /** Rejects with `ModelError` if this model, or with null any, cannot be asked. Nothing is sent to it. */
    checkModel: async (model: string | null) => void (await chooseModel({ ...settings, model })),
  }
}

/** A shorter value is no key, and might stand in any text. */
const shortestKey = 8

/** Takes the values of these variables out of a text: they are written nowhere. */
function redactKeys(
  variables: readonly string[],
  environment: AgentSettings['environment'],
): (text: string) => string {
  const values = variables
    .map((name) => ({ name, value: environment[name] ?? '' }))
    .filter(({ value }) => value.length >= shortestKey)
  return (text) =>
    values.reduce((rest, { name, value }) => rest.replaceAll(value, `[value of ${name}]`), text)
}
