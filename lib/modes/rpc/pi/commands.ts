import { noModelMessage } from '../../../agent/no-model.ts'
import { parsePrompt } from '../../../protocol/prompt.ts'
import type { RpcContext } from '../context.ts'
import { runBash } from './bash.ts'
import { Conversation } from './conversation.ts'

/** A line of the client: `type` says which command, the rest are its arguments. */
export type PiCommand = Readonly<Record<string, unknown>> & { type: unknown }

/** What commands work on. */
export interface PiState {
  context: RpcContext
  conversation: Conversation
  /** Commands under way. */
  readonly running: Set<AbortController>
  emit(event: Record<string, unknown>): 'closed' | void | Promise<'closed' | void>
}

/** Gives the `data` of the response; a rejection is its `error`. */
type Perform = (command: PiCommand, state: PiState) => unknown

export const piCommands: ReadonlyMap<unknown, Perform> = new Map<unknown, Perform>(
  Object.entries({
    bash: (command, state) => bash(command, command['command'], false, state),
    abort_bash: (_, state) => abortAll(state),

    async prompt(command, state) {
      const prompt = parsePrompt(textOf(command, 'message'))
      if (prompt.kind !== 'command') throw new Error(noModelMessage)
      await bash(command, prompt.command, !prompt.injected, state)
      return { disposition: 'handled' }
    },
    steer: refuseWithoutModel,
    follow_up: refuseWithoutModel,
    abort: (_, state) => abortAll(state),

    get_state: (_, { conversation: it }) => ({
      thinkingLevel: it.thinkingLevel,
      isStreaming: false,
      isCompacting: false,
      steeringMode: it.steeringMode,
      followUpMode: it.followUpMode,
      sessionId: it.sessionId,
      sessionName: it.sessionName,
      autoCompactionEnabled: it.autoCompactionEnabled,
      messageCount: it.messages.length,
      pendingMessageCount: 0,
    }),
    get_messages: (_, { conversation }) => ({ messages: conversation.messages }),
    get_last_assistant_text: () => ({ text: null }),
    get_session_stats: (_, { conversation }) => ({
      sessionId: conversation.sessionId,
      userMessages: 0,
      assistantMessages: 0,
      toolCalls: 0,
      toolResults: 0,
      totalMessages: conversation.messages.length,
      tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      cost: 0,
    }),
    get_commands: () => ({ commands: [] }),

    new_session(_, state) {
      abortAll(state)
      state.conversation = new Conversation()
      return { cancelled: false }
    },
    set_session_name(command, { conversation }) {
      const name = textOf(command, 'name').trim()
      if (name === '') throw new Error('Session name cannot be empty')
      conversation.sessionName = name
    },
    switch_session: refuse('Sessions are not kept in files here'),
    fork: refuse('There is no message to fork from'),
    clone: refuse('Cannot clone session: no current entry selected'),
    get_fork_messages: () => ({ messages: [] }),
    export_html: refuse('Exporting is not part of nacre'),

    set_model(command) {
      throw new Error(
        `Model not found: ${textOf(command, 'provider')}/${textOf(command, 'modelId')}`,
      )
    },
    cycle_model: () => null,
    get_available_models: () => ({ models: [] }),
    set_thinking_level(command, { conversation }) {
      conversation.thinkingLevel = textOf(command, 'level')
    },
    cycle_thinking_level: () => null,
    set_steering_mode(command, { conversation }) {
      conversation.steeringMode = choiceOf(command, 'mode', queueModes)
    },
    set_follow_up_mode(command, { conversation }) {
      conversation.followUpMode = choiceOf(command, 'mode', queueModes)
    },

    compact: refuse('Nothing to compact (session too small)'),
    set_auto_compaction(command, { conversation }) {
      const { enabled } = command
      if (typeof enabled !== 'boolean') throw new TypeError('`enabled` must be true or false')
      conversation.autoCompactionEnabled = enabled
    },
    set_auto_retry: () => undefined,
    abort_retry: () => undefined,
  } satisfies Record<string, Perform>),
)

const queueModes = ['all', 'one-at-a-time']

async function bash(
  { id }: PiCommand,
  command: unknown,
  excludeFromContext: boolean,
  state: PiState,
) {
  const aborting = new AbortController()
  const { conversation } = state
  state.running.add(aborting)
  try {
    const result = await runBash(command, state.context, aborting.signal, (delta) =>
      state.emit({ type: 'bash_execution_update', id, delta }),
    )
    conversation.add({
      role: 'bashExecution',
      command: command as string,
      ...result,
      timestamp: Date.now(),
      ...(excludeFromContext && { excludeFromContext }),
    })
    return result
  } finally {
    state.running.delete(aborting)
  }
}

function abortAll({ running }: PiState): void {
  for (const aborting of running) aborting.abort()
}

function refuse(message: string): Perform {
  return () => {
    throw new Error(message)
  }
}

function refuseWithoutModel(): never {
  throw new Error(noModelMessage)
}

function textOf(command: PiCommand, name: string): string {
  const value = command[name]
  if (typeof value === 'string') return value
  throw new TypeError(`\`${name}\` must be a text`)
}

function choiceOf(command: PiCommand, name: string, values: readonly string[]): string {
  const value = textOf(command, name)
  if (values.includes(value)) return value
  throw new TypeError(`\`${name}\` must be one of ${values.join(', ')}`)
}
