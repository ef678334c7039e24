import type { Approve, Executor } from '../executor/executor.ts'
import { MisuseError } from '../protocol/errors.ts'
import { findWorkspace } from '../system/look.ts'
import {
  type Conversation,
  type ConversationStore,
  createConversationStore,
} from './conversations/store.ts'
import { createInjectionQueue, type InjectionQueue } from './injection.ts'
import { chooseModel, listAvailableModels } from './models/choose-model.ts'
import { keyVariables } from './models/providers.ts'
import { AgentSession, type AgentSettings } from './session.ts'

/** What a front door has of the agent: its conversations, and who can answer. */
export type Agent = ReturnType<typeof createAgent>

/** The conversation to open; if nothing is given, a new one. */
export interface WantedConversation {
  /** Its id. */
  resume?: string | null
  /** Asks for the newest conversation of the directory. */
  continue?: boolean
}

export interface OpenOptions {
  /** Where its commands begin, in place of the directory of nacre. */
  cwd?: string
  /** Answers the questions of the guard; without it they are denied. */
  approve?: Approve | undefined
  /** Commands of the person that wait for it already. */
  commands?: InjectionQueue
}

export function createAgent(executor: Executor, settings: AgentSettings) {
  const conversations = createConversationStore({
    folder: settings.conversationFolder,
    redact: redactKeys(keyVariables(settings.providers), settings.environment),
  })
  return {
    conversations,
    /** Throws `MisuseError` if there is no such conversation. */
    open(wanted: WantedConversation = {}, options: OpenOptions = {}): AgentSession {
      const { cwd = settings.cwd, approve, commands } = options
      const workspace = settings.workspace ?? findWorkspace(cwd)
      return new AgentSession({
        executor,
        settings: { ...settings, cwd, workspace },
        conversation: openConversation(conversations, wanted, cwd),
        approve,
        commands: commands ?? createInjectionQueue(executor.artifacts),
      })
    },
    /** Every model that can be asked now, as `provider/name`. */
    listModels: () => listAvailableModels(settings),
    /** Rejects with `ModelError` if this model, or with null any, cannot be asked. Nothing is sent to it. */
    checkModel: async (model: string | null) => void (await chooseModel({ ...settings, model })),
  }
}

function openConversation(
  store: ConversationStore,
  wanted: WantedConversation,
  cwd: string,
): Conversation {
  if (typeof wanted.resume === 'string') return store.open(wanted.resume)
  if (!wanted.continue) return store.create(cwd)
  const newest = store.newest(cwd)
  if (newest !== null) return store.open(newest)
  throw new MisuseError('not_found', `There is no conversation to go on with in ${cwd}`)
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
