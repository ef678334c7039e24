import { type RunListener, listenToText } from '../../protocol/result/event.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import type { Call, Handlers } from './context.ts'

/** Turns of a conversation; `!command` is run without a model. */
export const promptMethods = {
  prompt: async ({ text, conversation }, call) => {
    const prompt = parsePrompt(text)
    const { prompts } = call.client
    if (prompt.kind !== 'command') {
      const { id, signal, approve } = call
      return prompts.answer(text.trim(), conversation, {
        signal,
        approve,
        tell: (event) => call.notify('prompt.event', { request_id: id, event }),
      })
    }
    const stopping = new AbortController()
    call.client.commands.add(stopping)
    try {
      const result = await call.context.executor.run(
        { command: prompt.command, origin: 'rpc', streams: 'merged', timeoutSeconds: 86_400 },
        {
          signal: AbortSignal.any([call.signal, stopping.signal]),
          onEvent: tellPromptEvents(call),
          approve: call.approve,
        },
      )
      if (prompt.injected) await prompts.addCommand(result, conversation)
      return { disposition: 'handled', result }
    } finally {
      call.client.commands.delete(stopping)
    }
  },
  'prompt.steer': ({ text, conversation }, { client }) => ({
    steered: client.prompts.steer(text, conversation),
  }),
  'prompt.cancel': ({ conversation }, { client }) => {
    const commands = conversation === undefined ? [...client.commands] : []
    for (const command of commands) command.abort()
    return { cancelled: commands.length + client.prompts.cancel(conversation) }
  },
} satisfies Partial<Handlers>

function tellPromptEvents(call: Call): RunListener {
  const tell = (event: { type: string }) =>
    call.notify('prompt.event', { request_id: call.id, event: { ...event } })
  // The result of the command is the answer to the request.
  return listenToText((event) =>
    event.type === 'exited'
      ? tell({ type: event.type, id: event.id } as { type: string })
      : tell(event),
  )
}
