import { createLazy } from '../../protocol/deferred.ts'
import type { Agent } from '../../agent/agent.ts'
import { eventToWire } from '../../agent/events.ts'
import { createInjectionQueue } from '../../agent/injection.ts'
import type { AgentSession } from '../../agent/session.ts'
import type { Approve, Executor } from '../../executor/executor.ts'
import type { Result, PromptResult } from '../../protocol/result/result.ts'
import type { AgentSettings } from '../../agent/settings.ts'
import type { ListenerAnswer } from '../../protocol/result/event.ts'

/** One request that is answered by a model. */
export interface PromptCall {
  signal: AbortSignal
  approve: Approve | undefined
  /** Tells the client what happens; a promise says to wait, `closed` that it is gone. */
  tell(event: WireEvent): ListenerAnswer | Promise<ListenerAnswer>
}
type WireEvent = ReturnType<typeof eventToWire>

/** The conversations of one connection. */
export interface Prompts {
  /** A person's own command: it goes before the next message of that conversation, once it has ended. */
  addCommand(ended: Result | Promise<Result>, conversation?: string): Promise<void>
  /** Rejects with `MisuseError` where there is no such conversation, or it is at work. */
  answer(text: string, conversation: string | undefined, call: PromptCall): Promise<PromptResult>
  /** False: no prompt of it is under way. */
  steer(text: string, conversation?: string): boolean
  /** Stops the prompt of that conversation, or all; gives how many. */
  cancel(conversation?: string): number
}

interface Talk {
  session: AgentSession
  /** Answers the guard for the call that is answered now. */
  approve: Approve | undefined
}

/** What a conversation needs. */
export interface PromptsContext {
  executor: Executor
  agentSettings: () => AgentSettings
}

export function createPrompts({ executor, agentSettings }: PromptsContext): Prompts {
  const talks = new Map<string, Talk>()
  /** For the conversation that is meant where none is named. */
  const commands = createInjectionQueue(executor.artifacts)
  /** The one that is meant where none is named. */
  let own: Talk | null = null
  const agent = createLazy(async () => {
    const { createAgent } = await import('../../agent/agent.ts')
    return createAgent(executor, agentSettings())
  })

  async function find(conversation: string | undefined): Promise<Talk> {
    const loaded = await agent.open()
    if (conversation === undefined) return (own ??= begin(loaded, undefined))
    return talks.get(conversation) ?? begin(loaded, conversation)
  }

  function begin(loaded: Agent, conversation: string | undefined): Talk {
    const talk: Talk = {
      approve: undefined,
      session: loaded.open(
        { resume: conversation ?? null },
        {
          approve: (...asked) => talk.approve?.(...asked) ?? false,
          ...(conversation === undefined && { commands }),
        },
      ),
    }
    talks.set(talk.session.conversation.id, talk)
    return talk
  }

  return {
    addCommand(ended, conversation = '') {
      return (talks.get(conversation)?.session.commands ?? commands).add(ended)
    },
    async answer(text, conversation, call) {
      const talk = await find(conversation)
      const { session } = talk
      if (!session.isWorking) talk.approve = call.approve
      const answered = session.prompt(text, { signal: call.signal })
      const stopListening = session.listen(async (event) => {
        // The last event is the result, which the request is answered with.
        if (event.type === 'result') return
        if ((await call.tell(eventToWire(event))) === 'closed') session.cancel()
      })
      try {
        return await answered
      } finally {
        stopListening()
      }
    },
    steer(text, conversation) {
      const talk = conversation === undefined ? own : talks.get(conversation)
      return talk?.session.steer(text) ?? false
    },
    cancel(conversation) {
      const chosen = [...talks].filter(([id]) => conversation === undefined || id === conversation)
      return chosen.filter(([, { session }]) => session.cancel()).length
    },
  }
}
