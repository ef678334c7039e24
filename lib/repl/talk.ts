import { createLazy } from '../protocol/deferred.ts'
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { PromptResult, Result } from '../protocol/result/result.ts'
import { createInjectionQueue } from '../agent/injection.ts'
import type { AgentSession, AgentSettings } from '../agent/session.ts'
import type { ConversationInfo } from '../agent/conversations/store.ts'
import type { Approve, Executor } from '../executor/executor.ts'
import type { Act } from '../executor/reach.ts'
import { messageOf } from '../protocol/errors.ts'
import { countOf, type Style } from './screen/text.ts'
import { pick } from './line/list.ts'
import type { Display } from './screen/display.ts'
import type { ReplState } from './run-command.ts'

/** A person's conversation with a model. What it needs is loaded with the first word of it. */
export interface Talk {
  /**
   * Settles when the model has answered, or was cancelled. `answer` runs what the person types meanwhile that is
   * no message.
   */
  ask(text: string, answer: (line: string) => Promise<void>): Promise<void>
  /** A person's own command: the next message begins with how it ended. */
  addCommand(result: Result): void
  /** Hands a run or an artifact over with the next message. Gives the ids; rejects with `MisuseError`. */
  share(id: string, act: Act): Promise<readonly string[]>
  /** `provider/name`; an empty text shows what is set and what there is. */
  chooseModel(name: string): Promise<void>
  /** Every model that can be asked now. */
  listModels(): Promise<string[]>
  /** Goes on with an earlier conversation; with an empty text the person picks one. */
  resume(id: string): Promise<void>
  /** Writes the conversation into a file: JSON where its name says so, else Markdown. */
  export(file: string): Promise<void>
}

export interface TalkParts {
  executor: Executor
  settings: AgentSettings
  display: Display
  style: Style
  state: ReplState
  approve: Approve
  /** Keeps the result of a command of the model for the viewer. */
  onEnded: (result: Result) => void
}

/** What a prompt is told without a model, in the words of the REPL. */
const noModel =
  'No model is set: choose one with /model provider/name, or set the key of a provider ' +
  '(ANTHROPIC_API_KEY, OPENAI_API_KEY, …) before nacre starts. A command needs none: !command'

export function createTalk(parts: TalkParts): Talk {
  const { executor, settings, display, style, state, approve, onEnded } = parts
  /** What the person runs, also before a conversation has begun. */
  const commands = createInjectionQueue(executor)
  const agent = createLazy(async () => {
    const { createAgent } = await import('../agent/agent.ts')
    return createAgent(executor, settings)
  })
  let session: AgentSession | null = null
  const models = createLazy(async () => (await agent.open()).listModels())

  /** A conversation works where the person was when it began. */
  async function open(resume: string | null = null): Promise<AgentSession> {
    const opened = (await agent.open()).open({ resume, cwd: state.cwd, approve, commands })
    if (state.model !== null) opened.setModel(state.model)
    return (session = opened)
  }

  function tellEnd({ status, steps, usage, error }: PromptResult): void {
    if (error) display.print([style.red(error.code === 'no_model' ? noModel : error.message)])
    else if (status === 'cancelled') display.print([style.yellow('✗ cancelled')])
    const { inputTokens, outputTokens, costUsd } = usage
    if (inputTokens + outputTokens === 0) return
    const cost = costUsd ? ` · $${costUsd.toFixed(4)}` : ''
    const tokens = `${countOf(inputTokens, 'token')} in, ${outputTokens.toLocaleString('en-US')} out`
    display.print([style.dim(`${countOf(steps, 'step')} · ${tokens}${cost}`)])
  }

  async function pickConversation(list: readonly ConversationInfo[]): Promise<string | null> {
    if (list.length === 0) {
      display.print(['No conversations.'])
      return null
    }
    const choices = list.map(({ id, title, updatedAt }) => {
      const hint = `${updatedAt.slice(0, 16).replace('T', ' ')}  ${id}`
      return { value: id, label: title, hint }
    })
    return pick(display, { title: 'conversation:', choices, style })
  }

  return {
    async ask(text, answer) {
      const { createTurnView } = await import('./turn-view.ts')
      const talking = session ?? (await open())
      let answered = Promise.resolve()
      async function answerNext(before: Promise<void>, line: string): Promise<void> {
        await before
        await answer(line)
        if (state.quit) talking.cancel()
      }
      const run = (line: string) => void (answered = answerNext(answered, line))
      const turn = createTurnView({ session: talking, display, style, state, run, onEnded })
      const stopListening = talking.listen((event) => {
        if (event.type === 'start') state.model = event.model
        return turn.hear(event)
      })
      const close = display.open(turn.view)
      try {
        const result = await talking.prompt(text)
        close()
        tellEnd(result)
        // A command of the person's keeps the keys until it has ended.
        await answered
      } finally {
        close()
        stopListening()
        turn.end()
      }
    },
    addCommand: (result) => void commands.add(result),
    share: (id, act) => commands.share(id, act),
    async chooseModel(name) {
      if (name === '') {
        const known = await this.listModels()
        return display.print([
          state.model === null ? 'No model is set: /model provider/name' : `Model: ${state.model}`,
          ...known.slice(0, 50).map((model) => style.dim(`  ${model}`)),
        ])
      }
      await (await agent.open()).checkModel(name)
      state.model = name
      session?.setModel(name)
      display.print([`Model: ${name}`])
    },
    listModels: models.open,
    async resume(id) {
      const { conversations } = await agent.open()
      const chosen = id === '' ? await pickConversation(conversations.list()) : id
      if (chosen === null) return
      const count = (await open(chosen)).conversation.messages.length
      display.print([`Going on with ${chosen} (${countOf(count, 'message')}).`])
    },
    async export(file) {
      const id = session?.conversation.id
      if (id === undefined) return display.print(['Nothing was said yet.'])
      const { conversations } = await agent.open()
      const { exportJson, exportMarkdown } = await import('../agent/conversations/messages.ts')
      const entries = conversations.read(id)
      const path = resolve(state.cwd, file === '' ? `${id}.md` : file)
      const text = path.endsWith('.json')
        ? `${JSON.stringify(exportJson(entries), null, 2)}\n`
        : exportMarkdown(entries)
      try {
        writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
        display.print([`Written: ${path}`])
      } catch (error) {
        display.print([style.red(messageOf(error))])
      }
    },
  }
}
