import type { Agent } from '../../../agent/agent.ts'
import type { AgentSession } from '../../../agent/session.ts'
import { parsePrompt } from '../../../protocol/request/prompt.ts'
import { messageOf } from '../../../protocol/errors.ts'
import type { RpcContext } from '../context.ts'
import { runBash } from './bash.ts'
import { createEventWriter } from './agent-events.ts'
import { Conversation } from './conversation.ts'
import { describeModel } from './messages.ts'

/** A line of the client: `type` says which command, the rest are its arguments. */
export type PiCommand = Readonly<Record<string, unknown>> & { type: unknown }

/** What commands work on. */
export interface PiState {
  context: RpcContext
  conversation: Conversation
  /** Commands under way. */
  readonly running: Set<AbortController>
  /** Loaded with the first message for a model. */
  agent(): Promise<Agent>
  /** The conversation with the model; null before its first message. */
  session: AgentSession | null
  /** What is said after the prompt that is under way. */
  readonly followUps: string[]
  /** Settles when no prompt is under way. */
  working: Promise<void>
  emit(event: Record<string, unknown>): 'closed' | void | Promise<'closed' | void>
}

/** Gives the `data` of the response; a rejection is its `error`. */
type Perform = (command: PiCommand, state: PiState) => unknown

export const piCommands: ReadonlyMap<unknown, Perform> = new Map<unknown, Perform>(
  Object.entries({
    bash: (command, state) => bash(command, command['command'], false, state),
    abort_bash: (_, state) => abortAll(state),

    prompt,
    async steer(command, state) {
      const text = textOf(command, 'message')
      if (state.session?.steer(text) !== true) await beginPrompt(text, state)
    },
    async follow_up(command, state) {
      const text = textOf(command, 'message')
      if (state.session?.isWorking) state.followUps.push(text)
      else await beginPrompt(text, state)
    },
    async abort(_, state) {
      abortAll(state)
      state.followUps.length = 0
      state.session?.cancel()
      await state.working
    },

    get_state: (_, { conversation: it, session, followUps }) => ({
      model: it.model === null ? null : describeModel(it.model),
      thinkingLevel: it.thinkingLevel,
      isStreaming: session?.isWorking ?? false,
      isCompacting: false,
      steeringMode: it.steeringMode,
      followUpMode: it.followUpMode,
      sessionId: it.sessionId,
      sessionName: it.sessionName,
      autoCompactionEnabled: it.autoCompactionEnabled,
      messageCount: it.messages.length,
      pendingMessageCount: followUps.length,
    }),
    get_messages: (_, { conversation }) => ({ messages: conversation.messages }),
    get_messages_page: ({ cursor, limit = usualPage }, { conversation }) => {
      if (!Number.isInteger(limit) || Number(limit) < 1) {
        throw new TypeError('`limit` must be a whole number from 1 on')
      }
      if (cursor !== undefined && typeof cursor !== 'string') {
        throw new TypeError('`cursor` must be a text')
      }
      return conversation.page(cursor, Number(limit))
    },
    get_last_assistant_text: (_, { conversation }) => ({ text: conversation.lastText() }),
    get_session_stats: (_, { conversation, session }) => {
      const count = (role: string) => conversation.messages.filter((it) => it.role === role).length
      const usage = session?.usage()
      const { inputTokens: input = 0, outputTokens: output = 0, cacheReadTokens = 0 } = usage ?? {}
      return {
        sessionId: conversation.sessionId,
        userMessages: count('user'),
        assistantMessages: count('assistant'),
        toolCalls: count('toolResult'),
        toolResults: count('toolResult'),
        totalMessages: conversation.messages.length,
        tokens: { input, output, cacheRead: cacheReadTokens, cacheWrite: 0, total: input + output },
        cost: usage?.costUsd ?? 0,
      }
    },
    get_commands: () => ({ commands: [] }),

    new_session(_, state) {
      abortAll(state)
      state.followUps.length = 0
      state.session?.cancel()
      state.session = null
      state.conversation = new Conversation(
        state.conversation.model,
        state.context.executor.artifacts,
      )
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

    async set_model(command, state) {
      const model = `${textOf(command, 'provider')}/${textOf(command, 'modelId')}`
      try {
        await (await state.agent()).checkModel(model)
      } catch (error) {
        throw new Error(`Model not found: ${model} (${messageOf(error)})`, { cause: error })
      }
      state.conversation.model = model
      state.session?.setModel(model)
      return describeModel(model)
    },
    cycle_model: () => null,
    async get_available_models(_, state) {
      const models = await (await state.agent()).listModels()
      return { models: models.map(describeModel) }
    },
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

/** How many messages a page holds. */
const usualPage = 100

const queueModes = ['all', 'one-at-a-time']

/** A command is answered when it has ended, a message for the model as soon as it is taken. */
async function prompt(command: PiCommand, state: PiState): Promise<unknown> {
  const text = textOf(command, 'message')
  const read = parsePrompt(text)
  if (read.kind === 'command') {
    await bash(command, read.command, !read.injected, state)
    // A client that waits for the end of a prompt waits for these events.
    await state.emit({ type: 'agent_start' })
    await state.emit({ type: 'agent_end', messages: [] })
    await state.emit({ type: 'agent_settled' })
    return { disposition: 'handled' }
  }
  if (text.trim() === '') throw new Error('`message` is empty')
  if (!state.session?.isWorking) return beginPrompt(text, state)
  switch (command['streamingBehavior']) {
    case 'steer':
      return void state.session.steer(text)
    case 'followUp':
      return void state.followUps.push(text)
    default:
      throw new Error(
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.",
      )
  }
}

/** Settles when the model is at work; what it does is told by events. */
async function beginPrompt(text: string, state: PiState): Promise<void> {
  const session = await openSession(state)
  await (await state.agent()).checkModel(session.model)
  state.working = work(session, text, state).catch(async (error: unknown) => {
    // Also after a fault of nacre's own a client that waits for the end must hear of one.
    await state.emit({ type: 'extension_error', error: messageOf(error) })
    await state.emit({ type: 'agent_end', messages: [] })
  })
}

async function work(session: AgentSession, text: string, state: PiState): Promise<void> {
  const { conversation } = state
  const writer = createEventWriter((message) => conversation.add(message))
  const stopListening = session.listen(async (event) => {
    for (const written of writer.write(event)) {
      if ((await state.emit(written)) === 'closed') session.cancel()
    }
    if (event.type === 'start') conversation.model = event.model
  })
  try {
    await session.prompt(text.trim())
  } finally {
    stopListening()
  }
  const next = state.followUps.shift()
  if (next !== undefined && session === state.session) await work(session, next, state)
}

async function openSession(state: PiState): Promise<AgentSession> {
  if (state.session) return state.session
  const { model, commands } = state.conversation
  const session = (await state.agent()).open({}, { commands })
  if (model !== null) session.setModel(model)
  return (state.session ??= session)
}

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
    const { told: result, result: whole } = await runBash(
      command,
      state.context,
      aborting.signal,
      (delta) => state.emit({ type: 'bash_execution_update', id, delta }),
    )
    if (!excludeFromContext) await conversation.commands.add(whole)
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
