import type { Approve, Executor } from '../executor/executor.ts'
import { type Act, createReach } from '../executor/reach.ts'
import { MisuseError } from '../protocol/errors.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { PromptResult } from '../protocol/result/result.ts'
import { nowMs, roundMs } from '../system/clock.ts'
import { createToolDesk, type ToolDesk } from './call-tools.ts'
import type { Conversation } from './conversations/store.ts'
import { shortenReplies } from './conversations/messages.ts'
import type { AgentListener } from './events.ts'
import { type InjectionQueue, namesIn } from './injection.ts'
import { type InstructionPlace, writeInstructions } from './instructions.ts'
import { chooseModel, type ModelSettings } from './models/choose-model.ts'
import { ModelError } from './models/failure.ts'
import {
  addUsage,
  type AssistantMessage,
  type Model,
  type ModelFailure,
  noUsage,
  textOf,
  toolCallsOf,
  type ToolDescription,
  type TurnEnd,
} from './models/model.ts'
import type { OutputSchema } from './output-schema.ts'
import { describeTools } from './tools/tools.ts'

/** What an agent works with: plain values, read once by whoever starts nacre. */
export interface AgentSettings extends ModelSettings, Omit<InstructionPlace, 'workspace'> {
  /** Null: the git root above the directory in which a conversation begins, else that directory. */
  workspace: string | null
  /** Holds the conversations; null: none is kept. */
  conversationFolder: string | null
  /** The sandbox of its commands: as configured, or, where that says nothing, as far as there is one. */
  sandbox: NonNullable<RequestInput['sandbox']>
  limits: PromptLimits
  /** The questions of the guard are answered with yes. */
  saysYes: boolean
}

/** What ends a prompt before its answer. */
export interface PromptLimits {
  /** Null: as many as usual. */
  maxSteps: number | null
  /** Null: no limit. */
  maxCostUsd: number | null
  /** Null: no limit. */
  timeoutMs: number | null
}

export interface PromptOptions {
  /** Aborting it is the same as `cancel`. */
  signal?: AbortSignal | undefined
  /** What the answer has to be. */
  schema?: OutputSchema | null
  /** What a person has typed of the text, which hands over what it names; the rest is data. Default: all of it. */
  typed?: string
}

export interface AgentSessionParts {
  executor: Executor
  settings: AgentSettings & { workspace: string }
  conversation: Conversation
  /** Answers the questions of the guard; without it they are denied. */
  approve: Approve | undefined
  commands: InjectionQueue
}

type PromptEnd = Pick<PromptResult, 'status' | 'text' | 'data' | 'steps' | 'usage' | 'error'>

const usualMaxSteps = 50
/** An answer that does not meet its schema is asked for again so often. */
const schemaRetries = 2
/** Past this part of its context a model gets a shorter conversation before it complains. */
const fullContext = 0.8
/** How many rounds of calls stay whole when room is made, fewer each time. */
const keptRounds = [4, 1, 0]

/**
 * One conversation with a model that works through the executor. It knows nothing of who draws it:
 * print, the REPL, RPC and ACP hold one each and render its events.
 */
export class AgentSession {
  readonly conversation: Conversation
  /** A person's own commands: the next message begins with how they ended. */
  readonly commands: InjectionQueue
  /** What the model at work has been told and has not heard yet; it may be taken back. */
  readonly queued: string[] = []
  readonly #executor: Executor
  readonly #settings: AgentSettings & { workspace: string }
  readonly #desk: ToolDesk
  readonly #listeners = new Set<AgentListener>()
  #wanted: string | null
  #model: Model | null = null
  #instructions: string | null = null
  #working: AbortController | null = null
  /** Whether the prompt under way still asks its model. */
  #hears = false

  constructor({ executor, settings, conversation, approve, commands }: AgentSessionParts) {
    this.conversation = conversation
    this.commands = commands
    this.#executor = executor
    this.#settings = settings
    this.#wanted = settings.model
    const handed = (id: string, act: Act) =>
      conversation.messages.some((said) => {
        if (said.role !== 'user') return false
        return said.writes?.includes(id) || (act === 'read' && said.names?.includes(id))
      })
    this.#desk = createToolDesk({
      executor: createReach(executor, conversation.id, handed),
      fields: this.#fields,
      approve: settings.saysYes ? () => true : approve,
      tell: this.#tell,
    })
  }

  /** What a sandbox opens to its commands. */
  get workspace(): string {
    return this.#settings.workspace
  }

  /** `provider/name`: as it is set, or once it was found; null before. */
  get model(): string | null {
    return this.#model?.id ?? this.#wanted
  }

  get isWorking(): boolean {
    return this.#working !== null
  }

  /** Chooses the model of the next prompts; null: one is looked for again. */
  setModel(model: string | null): void {
    this.#wanted = model
    this.#model = null
  }

  /** Hears every event of every prompt. Gives what ends the listening. */
  listen(listener: AgentListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Says something to the model that is at work; it hears it before its next step. False: none is. */
  steer(text: string): boolean {
    if (this.#hears) this.queued.push(text)
    return this.#hears
  }

  /** Stops the prompt under way with all that it has started here. False: there is none. */
  cancel(): boolean {
    this.#working?.abort()
    return this.#working !== null
  }

  /**
   * Asks the model and lets it work until it has answered. Never rejects for what a model or a
   * command does; rejects with `MisuseError` while another prompt is under way.
   */
  async prompt(text: string, options: PromptOptions = {}): Promise<PromptResult> {
    const { signal } = options
    if (this.#working) {
      throw new MisuseError('busy', 'The model is at work; steer it, or cancel it first')
    }
    const stop = (this.#working = new AbortController())
    const either = signal ? AbortSignal.any([stop.signal, signal]) : stop.signal
    const { timeoutMs } = this.#settings.limits
    const deadline =
      timeoutMs === null ? undefined : setTimeout(() => stop.abort(timedOut), timeoutMs)
    const startedAtMs = nowMs()
    const { conversation } = this
    try {
      this.#hears = true
      const end = await this.#work(text, options, either)
      this.#hears = false
      const lost = conversation.takeNotice()
      if (lost !== null) await this.#tell({ type: 'notice', message: lost })
      const result: PromptResult = {
        type: 'result',
        status: end.status,
        text: end.text,
        data: end.data,
        steps: end.steps,
        runs: this.#desk.takeRuns(),
        jobs: await this.#desk.listJobs(),
        usage: end.usage,
        model: this.model,
        conversationId: conversation.id,
        durationMs: roundMs(nowMs() - startedAtMs),
        error: end.error,
      }
      this.#working = null
      await this.#tell(result)
      return result
    } finally {
      clearTimeout(deadline)
      this.#hears = false
      this.#working = null
      this.queued.length = 0
    }
  }

  get #fields(): Pick<RequestInput, 'cwd' | 'sandbox' | 'workspace'> {
    const { cwd, sandbox, workspace } = this.#settings
    return { cwd, sandbox, workspace }
  }

  readonly #tell: AgentListener = async (event) => {
    for (const listener of this.#listeners) await listener(event)
  }

  async #work(text: string, options: PromptOptions, signal: AbortSignal): Promise<PromptEnd> {
    const { conversation } = this
    const conversationId = conversation.id
    try {
      const model = await this.#openModel()
      return await conversation.hold(async () => {
        await this.#tell({ type: 'start', conversationId, model: model.id, text })
        return this.#answer(text, model, options, signal)
      })
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      const { code, message } = error
      await this.#tell({ type: 'start', conversationId, model: this.#wanted, text })
      return { ...noAnswer, status: 'failed', steps: 0, usage: noUsage, error: { code, message } }
    }
  }

  async #openModel(): Promise<Model> {
    const model = (this.#model ??= await chooseModel({ ...this.#settings, model: this.#wanted }))
    if (this.#settings.limits.maxCostUsd === null || model.isPriced) return model
    const message = `The price of \`${model.id}\` is not known, so --max-cost cannot be kept; leave it out`
    throw new ModelError('no_price', message)
  }

  async #readInstructions(): Promise<string> {
    if (this.#instructions !== null) return this.#instructions
    const today = new Date().toISOString().slice(0, 10)
    const { text, notices } = writeInstructions(this.#settings, today)
    for (const message of notices) await this.#tell({ type: 'notice', message })
    return (this.#instructions = text)
  }

  /**
   * Asks the model, runs what it calls for and asks again, until it has answered or something ends it.
   * The conversation stays one that can be gone on with, whatever happens.
   */
  async #answer(
    text: string,
    model: Model,
    { schema = null, typed = text }: PromptOptions,
    signal: AbortSignal,
  ): Promise<PromptEnd> {
    const { conversation, commands } = this
    const { limits } = this.#settings
    const desk = this.#desk
    const run = { origin: 'agent', fields: this.#fields } as const
    const tools = describeTools(this.#settings.cwd, this.#executor, run)
    const system = await this.#readInstructions()
    const waiting = commands.peek()
    const news = (await desk.takeEnded()).map((line) => `[Ended in the background: ${line}]\n`)
    const request = schema === null ? '' : `\n\n${schema.request}`
    const names = [...waiting.commands.flatMap((it) => it.names), ...namesIn(typed)]
    const writes = waiting.commands.flatMap((it) => it.writes)
    const question = `${waiting.text}${news.join('')}${text}${request}`
    conversation.add({ role: 'user', text: question, names, writes })
    let steps = 0
    let usage = noUsage
    let wrongAnswers = 0
    /** Whether the model has taken the question. */
    let taken = false

    function end(status: PromptEnd['status'], rest: Partial<PromptEnd> = {}): PromptEnd {
      const { error = null } = rest
      conversation.end(status, error?.message ?? null)
      return { ...noAnswer, ...rest, status, steps, usage, error }
    }

    /** A person, or the deadline, has stopped it. */
    function endStopped(): PromptEnd {
      if (signal.reason !== timedOut) return end('cancelled')
      const message = `No answer within ${(limits.timeoutMs ?? 0) / 1000} s, which is the limit (--timeout)`
      return end('limit', { error: { code: 'timeout', message } })
    }

    for (;;) {
      if (signal.aborted) return endStopped()
      const limit = findLimit(steps, usage.costUsd ?? 0, limits)
      if (limit !== null) return end('limit', { error: limit })
      steps++
      await this.#tell({ type: 'step', step: steps })
      const turn = await this.#takeTurn(model, tools, system, signal)
      const { message } = turn
      usage = addUsage(usage, turn.usage)
      if (turn.reason === 'failed') {
        if (!taken) conversation.withdraw(turn.error.message)
        return end('failed', { error: turn.error })
      }
      if (turn.reason === 'cancelled') {
        const said = keepText(message)
        if (said.parts.length > 0) conversation.add({ ...said, interrupted: true }, turn.usage)
        else if (!taken) conversation.withdraw('cancelled')
        return endStopped()
      }
      if (!taken) commands.take(waiting)
      taken = true
      conversation.add(message, turn.usage)
      await this.#tell({ type: 'message', message, usage: turn.usage })
      if (turn.reason === 'tools') {
        const replies = await desk.call(toolCallsOf(message), signal)
        const ended = await desk.takeEnded()
        const last = replies.at(-1)
        if (last && ended.length > 0)
          last.text += `\n[Ended in the background: ${ended.join('; ')}]`
        conversation.add({ role: 'tool', replies })
      }
      if (this.queued.length > 0 && !signal.aborted) {
        for (const said of this.queued.splice(0)) {
          conversation.add({ role: 'user', text: said, names: namesIn(said) })
          await this.#tell({ type: 'steer', text: said })
        }
        continue
      }
      if (turn.reason === 'tools') continue
      const answer = textOf(message)
      if (schema === null) return end('answered', { text: answer })
      const read = schema.read(answer)
      if ('data' in read) return end('answered', { text: answer, data: read.data })
      const why = `The answer does not meet the schema: ${read.wrong}`
      if (wrongAnswers++ === schemaRetries) {
        return end('failed', { error: { code: 'schema_not_met', message: why } })
      }
      conversation.add({ role: 'user', text: `${why}. ${schema.request}` })
    }
  }

  /** One turn of the model; if the conversation is too long for it, once more with a shorter one. */
  async #takeTurn(
    model: Model,
    tools: readonly ToolDescription[],
    system: string,
    signal: AbortSignal,
  ): Promise<TurnEnd> {
    const { conversation } = this
    const room = [...keptRounds]
    const makeRoom = async (): Promise<boolean> => {
      for (let kept = room.shift(); kept !== undefined; kept = room.shift()) {
        const shorter = shortenReplies(conversation.messages, kept)
        if (shorter === null) continue
        conversation.shorten(shorter)
        await this.#tell({ type: 'notice', message: 'Old results were shortened to make room' })
        return true
      }
      return false
    }
    // A token counts as four characters, which is exact enough to act before the provider refuses.
    const tokens = JSON.stringify(conversation.messages).length / 4
    if (tokens > (model.contextTokens ?? Infinity) * fullContext) await makeRoom()
    for (;;) {
      let end: TurnEnd | null = null
      for await (const event of model.turn(conversation.messages, tools, { system, signal })) {
        if (event.type === 'end') end = event
        else if (event.type === 'retry') await this.#tell(event)
        else await this.#tell({ type: event.type, text: event.delta })
      }
      if (end === null) throw new Error('a turn of a model ended without saying why')
      const isTooLong = end.reason === 'failed' && end.error.code === 'context_too_long'
      if (!isTooLong || !(await makeRoom())) return end
    }
  }
}

/** The reason of a signal that a deadline has aborted, and no person. */
const timedOut = 'timeout'

const noAnswer = { text: '', data: null }

/** Calls that were never made are nothing to go on with. */
function keepText(message: AssistantMessage): AssistantMessage {
  const parts = message.parts.filter((part) => part.type === 'text' && part.text !== '')
  return { ...message, parts }
}

function findLimit(
  steps: number,
  costUsd: number,
  { maxSteps, maxCostUsd }: PromptLimits,
): ModelFailure | null {
  const mostSteps = maxSteps ?? usualMaxSteps
  if (steps >= mostSteps) {
    const message = `No answer after ${mostSteps} steps, which is the limit (--max-steps)`
    return { code: 'max_steps', message }
  }
  if (maxCostUsd === null || costUsd < maxCostUsd) return null
  const spent = `$${costUsd.toFixed(4)}`
  const message = `No answer for ${spent}, and $${maxCostUsd} is the limit (--max-cost)`
  return { code: 'max_cost', message }
}
