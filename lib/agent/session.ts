import { nowMs, roundMs } from '../system/clock.ts'
import type { Approve, Executor } from '../executor/executor.ts'
import { createReach } from '../executor/reach.ts'
import { MisuseError } from '../protocol/errors.ts'
import { answerPrompt, type PromptEnd, timedOut } from './answer-prompt.ts'
import { createToolDesk } from './call-tools.ts'
import type { Conversation } from './conversations/store.ts'
import type { PromptResult } from '../protocol/result/result.ts'
import type { AgentListener } from './events.ts'
import type { InjectionQueue } from './injection.ts'
import { writeInstructions } from './instructions.ts'
import { chooseModel } from './models/choose-model.ts'
import { ModelError } from './models/failure.ts'
import { type Model, type ModelFailure, noUsage, type Usage } from './models/model.ts'
import type { OutputSchema } from './output-schema.ts'
import type { AgentSettings, PromptLimits } from './settings.ts'
import { describeTools } from './tools/tools.ts'

/**
 * One conversation with a model that works through the executor. It knows nothing of who draws it:
 * print, the REPL, RPC and ACP hold one each and render its events.
 */
export interface AgentSession {
  readonly conversation: Conversation
  /** What a sandbox opens to its commands. */
  readonly workspace: string
  /** `provider/name`: as it is set, or once it was found; null before. */
  readonly model: string | null
  readonly isWorking: boolean
  /**
   * Asks the model and lets it work until it has answered. Never rejects for what a model or a
   * command does; rejects with `MisuseError` while another prompt is under way.
   */
  prompt(text: string, options?: PromptOptions): Promise<PromptResult>
  /** Says something to the model that is at work; it hears it before its next step. False: none is. */
  steer(text: string): boolean
  /** What the model at work has been told and has not heard yet. */
  readonly queued: readonly string[]
  /** Takes the last of that back; null: there is none. */
  takeBack(): string | null
  /** Stops the prompt under way with all that it has started here. False: there is none. */
  cancel(): boolean
  /** A person's own commands: the next message begins with how they ended. */
  readonly commands: InjectionQueue
  /** Chooses the model of the next prompts; null: one is looked for again. */
  setModel(model: string | null): void
  /** What the whole conversation has used. */
  usage(): Usage
  /** Hears every event of every prompt. Gives what ends the listening. */
  listen(listener: AgentListener): () => void
}

export interface PromptOptions {
  /** Aborting it is the same as `cancel`. */
  signal?: AbortSignal | undefined
  /** What the answer has to be. */
  schema?: OutputSchema | null
}

export interface AgentSessionParts {
  executor: Executor
  settings: AgentSettings & { workspace: string }
  conversation: Conversation
  /** Answers the questions of the guard; without it they are denied. */
  approve: Approve | undefined
  commands: InjectionQueue
}

export function createAgentSession(parts: AgentSessionParts): AgentSession {
  const { executor, settings, conversation } = parts
  const listeners = new Set<AgentListener>()
  const steering: string[] = []
  let wanted = settings.model
  let model: Model | null = null
  let instructions: string | null = null
  let working: AbortController | null = null
  /** Whether the prompt under way still asks its model. */
  let hears = false

  const tell: AgentListener = async (event) => {
    for (const listener of listeners) await listener(event)
  }
  const handed = {
    has: (id: string) =>
      conversation.messages.some((said) => said.role === 'user' && said.names?.includes(id)),
  }
  const { cwd, sandbox, workspace } = settings
  const fields = { cwd, sandbox, workspace }
  const desk = createToolDesk({
    executor: createReach(executor, conversation.id, handed),
    fields,
    approve: settings.saysYes ? () => true : parts.approve,
    tell,
  })

  async function openModel(): Promise<Model> {
    model ??= await chooseModel({ ...settings, model: wanted })
    if (settings.limits.maxCostUsd === null || model.isPriced) return model
    const message = `The price of \`${model.id}\` is not known, so --max-cost cannot be kept; leave it out`
    throw new ModelError('no_price', message)
  }

  async function readInstructions(): Promise<string> {
    if (instructions !== null) return instructions
    const today = new Date().toISOString().slice(0, 10)
    const { text, notices } = writeInstructions(settings, today)
    for (const message of notices) await tell({ type: 'notice', message })
    return (instructions = text)
  }

  async function work(
    text: string,
    { schema = null }: PromptOptions,
    stop: AbortController,
  ): Promise<PromptEnd> {
    try {
      const opened = await openModel()
      return await conversation.hold(async () => {
        await tell({ type: 'start', conversationId: conversation.id, model: opened.id, text })
        return answerPrompt(text, {
          model: opened,
          conversation,
          desk,
          queue: parts.commands,
          steering,
          system: await readInstructions(),
          limits: settings.limits,
          schema,
          tools: describeTools(cwd, executor, { origin: 'agent', fields }),
          signal: stop.signal,
          tell,
        })
      })
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      const { code, message } = error
      await tell({ type: 'start', conversationId: conversation.id, model: wanted, text })
      return { ...noAnswer, status: 'failed', error: { code, message } }
    }
  }

  return {
    conversation,
    commands: parts.commands,
    workspace: settings.workspace,
    get model() {
      return model?.id ?? wanted
    },
    get isWorking() {
      return working !== null
    },
    async prompt(text, options = {}) {
      if (working) {
        throw new MisuseError('busy', 'The model is at work; steer it, or cancel it first')
      }
      const stop = new AbortController()
      working = stop
      const onAbort = () => stop.abort()
      if (options.signal?.aborted) stop.abort()
      options.signal?.addEventListener('abort', onAbort, { once: true })
      const deadline = startDeadline(settings.limits, stop)
      const startedAtMs = nowMs()
      desk.reset()
      try {
        hears = true
        const end = await work(text, options, stop)
        hears = false
        const lost = conversation.takeNotice()
        if (lost !== null) await tell({ type: 'notice', message: lost })
        const result: PromptResult = {
          type: 'result',
          status: end.status,
          text: end.text,
          data: end.data,
          steps: end.steps,
          runs: [...desk.runs],
          jobs: await desk.listJobs(),
          usage: end.usage,
          model: model?.id ?? wanted,
          conversationId: conversation.id,
          durationMs: roundMs(nowMs() - startedAtMs),
          error: end.error,
        }
        working = null
        await tell(result)
        return result
      } finally {
        clearTimeout(deadline)
        options.signal?.removeEventListener('abort', onAbort)
        hears = false
        working = null
        steering.length = 0
      }
    },
    steer(text) {
      if (!hears) return false
      steering.push(text)
      return true
    },
    queued: steering,
    takeBack: () => steering.pop() ?? null,
    cancel() {
      working?.abort()
      return working !== null
    },
    setModel(id) {
      wanted = id
      model = null
    },
    usage: () => conversation.usage,
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** What a prompt ends with that has come to nothing. */
const noAnswer = {
  text: '',
  data: null,
  steps: 0,
  usage: noUsage,
  error: null as ModelFailure | null,
}

function startDeadline(
  { timeoutMs }: PromptLimits,
  stop: AbortController,
): NodeJS.Timeout | undefined {
  return timeoutMs === null ? undefined : setTimeout(() => stop.abort(timedOut), timeoutMs)
}
