import type { Agent } from '../../agent/agent.ts'
import { eventToWire } from '../../agent/events.ts'
import { createInjectionQueue, type InjectionQueue } from '../../agent/injection.ts'
import type { AgentSession } from '../../agent/session.ts'
import type { Approve, Executor } from '../../executor/executor.ts'
import type { Lazy } from '../../protocol/deferred.ts'
import type { ListenerAnswer } from '../../protocol/result/event.ts'
import type { PromptResult } from '../../protocol/result/result.ts'

/** The conversations of one connection. */
export interface Prompts {
  /** Commands of the person that go before the next message of that conversation. */
  commandsOf(conversation?: string): InjectionQueue
  /**
   * Tells what happens, to a client that may say `closed`. Rejects with `MisuseError` if there is no such
   * conversation, or it is at work.
   */
  answer(
    text: string,
    conversation: string | undefined,
    signal: AbortSignal,
    tell: (event: WireEvent) => ListenerAnswer | Promise<ListenerAnswer>,
  ): Promise<PromptResult>
  /** False: no prompt of it is under way. */
  steer(text: string, conversation?: string): boolean
  /** Stops the prompt of that conversation, or all; gives how many. */
  cancel(conversation?: string): number
}

type WireEvent = ReturnType<typeof eventToWire>

export function createPrompts(
  { artifacts }: Executor,
  agent: Lazy<Agent>,
  approve: Approve,
): Prompts {
  const sessions = new Map<string, AgentSession>()
  /** The conversation that is meant if none is named, and what waits for it. */
  let own: AgentSession | null = null
  const ownCommands = createInjectionQueue(artifacts)

  const find = (conversation: string | undefined) =>
    conversation === undefined ? own : sessions.get(conversation)

  async function open(resume: string | undefined): Promise<AgentSession> {
    const loaded = await agent.open()
    const found = find(resume)
    if (found) return found
    const isOwn = resume === undefined
    const session = loaded.open(
      { resume: resume ?? null },
      { approve, ...(isOwn && { commands: ownCommands }) },
    )
    if (isOwn) own = session
    sessions.set(session.conversation.id, session)
    return session
  }

  return {
    commandsOf: (conversation) => find(conversation)?.commands ?? ownCommands,
    async answer(text, conversation, signal, tell) {
      const session = await open(conversation)
      const answered = session.prompt(text, { signal })
      const stopListening = session.listen(async (event) => {
        // The last event is the result, which the request is answered with.
        if (event.type === 'result') return
        if ((await tell(eventToWire(event))) === 'closed') session.cancel()
      })
      try {
        return await answered
      } finally {
        stopListening()
      }
    },
    steer: (text, conversation) => find(conversation)?.steer(text) ?? false,
    cancel(conversation) {
      const found = conversation === undefined ? [...sessions.values()] : [find(conversation)]
      return found.filter((session) => session?.cancel()).length
    },
  }
}
