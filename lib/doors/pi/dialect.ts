import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '../../agent/agent.ts'
import { createInjectionQueue, type InjectionQueue } from '../../agent/injection.ts'
import type { AgentSession } from '../../agent/session.ts'
import type { Executor } from '../../executor/executor.ts'
import type { Lazy } from '../../protocol/deferred.ts'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import { listenToText } from '../../protocol/result/event.ts'
import type { Result } from '../../protocol/result/result.ts'
import { describeTrouble } from '../../render/messages.ts'
import type { Connection } from '../../wire/connection.ts'
import { createEventWriter, describeModel, type PiMessage } from './events.ts'

/*
 * The RPC mode of pi (`pi --mode rpc`, package @mariozechner/pi-coding-agent, docs/rpc.md there): a
 * line holds a command with `type` and perhaps an `id` of any kind, which the response repeats. What
 * a command of the shell does, a non-zero exit too, is a success.
 */

/** A line of the client: `type` says which command, the rest are its arguments. */
type PiCommand = Readonly<Record<string, unknown>>

/** What pi calls a session. */
interface Conversation {
  readonly sessionId: string
  readonly messages: PiMessage[]
  /** Commands that the model is told of with the first message. */
  readonly commands: InjectionQueue
  /** The conversation with the model; null before its first message. */
  session: AgentSession | null
}

/** So many messages are kept of a conversation; the oldest go first. */
const keptMessages = 1000

/**
 * The published client takes all lines of one read before whoever waits for a response goes on: an event that it
 * is to wait for after the response must not come in the same read.
 */
const afterResponseMs = 50

/** `model` is `provider/name`; null: one is looked for. */
export function createPiDialect(
  executor: Executor,
  connection: Connection,
  agent: Lazy<Agent>,
  model: string | null,
) {
  /** Commands of the client, and those of the shell among them. */
  const underWay = new Set<Promise<void>>()
  const running = new Set<AbortController>()
  let conversation = begin()
  /** Settles when no prompt is under way. */
  let working: Promise<void> = Promise.resolve()

  const send = (message: object) => connection.send(`${JSON.stringify(message)}\n`)
  const emit = (event: object) => connection.stream(`${JSON.stringify(event)}\n`)

  function begin(): Conversation {
    const commands = createInjectionQueue(executor)
    return { sessionId: randomUUID(), messages: [], commands, session: null }
  }

  function addMessage({ messages }: Conversation, message: PiMessage): void {
    if (messages.push(message) > keptMessages) messages.shift()
  }

  const abortCommands = () => running.forEach((aborting) => aborting.abort())

  function stopAll(): void {
    abortCommands()
    conversation.session?.cancel()
  }

  /** Gives the `data` of the response; a rejection is its `error`. */
  const commands: Readonly<Record<string, (command: PiCommand) => unknown>> = {
    bash: ({ id, command }) => bash(id, command, false),
    abort_bash: abortCommands,
    prompt,
    steer: say,
    follow_up: say,
    async abort() {
      stopAll()
      await working
    },
    get_state: () => ({
      model: model === null ? null : describeModel(model),
      thinkingLevel: 'off',
      isStreaming: conversation.session?.isWorking ?? false,
      isCompacting: false,
      steeringMode: 'one-at-a-time',
      followUpMode: 'one-at-a-time',
      sessionId: conversation.sessionId,
      autoCompactionEnabled: true,
      messageCount: conversation.messages.length,
      pendingMessageCount: conversation.session?.queued.length ?? 0,
    }),
    get_messages: () => ({ messages: conversation.messages }),
    get_last_assistant_text() {
      const last = conversation.messages.findLast(({ role }) => role === 'assistant')
      const content = last?.['content'] as readonly { text?: string }[] | undefined
      return { text: content?.map(({ text = '' }) => text).join('') ?? null }
    },
    get_commands: () => ({ commands: [] }),
    new_session() {
      stopAll()
      conversation = begin()
      return { cancelled: false }
    },
    async set_model({ provider, modelId }) {
      const wanted = `${asText(provider, 'provider')}/${asText(modelId, 'modelId')}`
      try {
        await (await agent.open()).checkModel(wanted)
      } catch (error) {
        throw new Error(`Model not found: ${wanted} (${messageOf(error)})`, { cause: error })
      }
      model = wanted
      conversation.session?.setModel(wanted)
      return describeModel(wanted)
    },
    async get_available_models() {
      const models = await (await agent.open()).listModels()
      return { models: models.map(describeModel) }
    },
  }

  /** A command is answered when it has ended, a message for the model as soon as it is taken. */
  async function prompt({ id, message }: PiCommand): Promise<unknown> {
    const text = asText(message, 'message')
    const read = parsePrompt(text)
    if (read.kind === 'command') {
      await bash(id, read.command, !read.injected)
      const others = working
      working = tellEnd().then(() => others)
      return { disposition: 'handled' }
    }
    if (text.trim() === '') throw new Error('`message` is empty')
    if (conversation.session?.isWorking) {
      throw new Error('Agent is already processing; use steer or follow_up')
    }
    return beginPrompt(text)
  }

  /** A client that waits for the end of a prompt waits for these events. */
  async function tellEnd(): Promise<void> {
    await delay(afterResponseMs)
    await emit({ type: 'agent_start' })
    await emit({ type: 'agent_end', messages: [] })
    await emit({ type: 'agent_settled' })
  }

  /** Says something to the model that is at work: it goes on with it. */
  async function say({ message }: PiCommand): Promise<void> {
    const text = asText(message, 'message')
    if (conversation.session?.steer(text) !== true) await beginPrompt(text)
  }

  /** Settles when the model is at work; what it does is told by events. */
  async function beginPrompt(text: string): Promise<void> {
    const opened = await agent.open()
    const own = conversation
    const session = (own.session ??= opened.open({ commands: own.commands }))
    if (model !== null) session.setModel(model)
    await opened.checkModel(session.model)
    const write = createEventWriter((message) => addMessage(own, message))
    const stopListening = session.listen(async (event) => {
      if (event.type === 'start') model ??= event.model
      for (const written of write(event)) {
        if ((await emit(written)) === 'closed') session.cancel()
      }
    })
    working = session.prompt(text.trim()).then(stopListening, async (error: unknown) => {
      stopListening()
      // Also after a fault of nacre's own a client that waits for the end must hear of one.
      await emit({ type: 'extension_error', error: messageOf(error) })
      await emit({ type: 'agent_end', messages: [] })
    })
  }

  /** Runs a command as pi does: plain bash, merged output, no deadline of its own. */
  async function bash(id: unknown, command: unknown, excludeFromContext: boolean) {
    const own = conversation
    const aborting = new AbortController()
    running.add(aborting)
    const tell = listenToText((event) =>
      event.type === 'output'
        ? emit({ type: 'bash_execution_update', id, delta: event.data })
        : undefined,
    )
    try {
      const result = await executor.run(
        {
          command: command as string,
          origin: 'rpc',
          streams: 'merged',
          login: false,
          timeoutSeconds: limits.timeoutSeconds.background,
        },
        { signal: aborting.signal, onEvent: tell },
      )
      if (result.status === 'denied' || result.status === 'not_started') {
        throw new MisuseError(result.status, describeTrouble(result).join('\n'))
      }
      if (!excludeFromContext) await own.commands.add(result)
      const told = describeBash(result)
      const more = { timestamp: Date.now(), ...(excludeFromContext && { excludeFromContext }) }
      addMessage(own, { role: 'bashExecution', command, ...told, ...more })
      return told
    } finally {
      running.delete(aborting)
    }
  }

  async function perform(command: PiCommand): Promise<void> {
    const { id, type } = command
    const head = { id, type: 'response', command: type }
    try {
      const name = String(type)
      const known = Object.hasOwn(commands, name) ? commands[name] : undefined
      if (!known) throw new Error(`Unknown command: ${name.slice(0, 100)}`)
      const data = await known(command)
      send({ ...head, success: true, ...(data !== undefined && { data }) })
    } catch (error) {
      send({ ...head, success: false, error: messageOf(error) })
    }
  }

  return {
    receive(message: unknown): void {
      const command = message as PiCommand
      // This answers a question of an extension, and nacre asks none.
      if (command['type'] === 'extension_ui_response') return
      const performed = perform(command).finally(() => underWay.delete(performed))
      underWay.add(performed)
    },
    refuse(why: string): void {
      const error = `Failed to parse command: ${why}`
      send({ type: 'response', command: 'parse', success: false, error })
    },
    /** Settles when no command is under way. */
    idle: async () => void (await Promise.all([...underWay, working])),
    cancelAll: stopAll,
  }
}

/** How pi's clients know the end of a command: `exitCode` is absent if there is none. */
function describeBash({ status, output, exitCode, truncation, artifact }: Result) {
  return {
    output: output ?? '',
    ...(exitCode !== null && { exitCode }),
    cancelled: status === 'stopped',
    truncated: truncation !== null,
    // The complete raw output.
    ...(artifact && { fullOutputPath: artifact.path }),
  }
}

function asText(value: unknown, name: string): string {
  if (typeof value === 'string') return value
  throw new TypeError(`\`${name}\` must be a text`)
}
