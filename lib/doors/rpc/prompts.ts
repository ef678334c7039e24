import type { Agent } from '../../agent/agent.ts'
import { eventToWire } from '../../agent/events.ts'
import { createInjectionQueue, type InjectionQueue } from '../../agent/injection.ts'
import type { AgentSession } from '../../agent/session.ts'
import type { Approve, Executor } from '../../executor/executor.ts'
import type { Lazy } from '../../protocol/deferred.ts'
import type { ListenerAnswer } from '../../protocol/result/event.ts'
import type { PromptResult } from '../../protocol/result/result.ts'

/** The conversations of one connection. */
export type Prompts = ReturnType<typeof createPrompts>

/** Tells a client what happens; a promise says to wait, `closed` that it is gone. */
type Tell = (event: ReturnType<typeof eventToWire>) => ListenerAnswer | Promise<ListenerAnswer>

export function createPrompts({ artifacts }: Executor, agent: Lazy<Agent>, approve: Approve) {
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
    /** Commands of the person that go before the next message of that conversation. */
    commandsOf: (conversation?: string): InjectionQueue =>
      find(conversation)?.commands ?? ownCommands,

    /** Rejects with `MisuseError` if there is no such conversation, or it is at work. */
    async answer(
      text: string,
      conversation: string | undefined,
      signal: AbortSignal,
      tell: Tell,
    ): Promise<PromptResult> {
      const session = await open(conversation)
      const answered = session.prompt(text, { signal })
      const stopListening = session.listen(async (event) => {
        // The last event is the result, which the request is answered with.
        if (event.type === 'result') return
        if ((await tell(eventToWire(event))) === 'closed') session.cancel()
      })
      return answered.finally(stopListening)
    },

    /** False: no prompt of it is under way. */
    steer: (text: string, conversation?: string): boolean =>
      find(conversation)?.steer(text) ?? false,

    /** Stops the prompt of that conversation, or all; gives how many. */
    cancel(conversation?: string): number {
      const found = conversation === undefined ? [...sessions.values()] : [find(conversation)]
      return found.filter((session) => session?.cancel()).length
    },
  }
}
