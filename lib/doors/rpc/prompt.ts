import type { RunListener } from '../../protocol/result/event.ts'
import { parsePrompt } from '../../protocol/request/prompt.ts'
import type { Call, Handlers } from './context.ts'
import { createRunDecoder } from '../../wire/run-events.ts'

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
    const { approve } = call
    try {
      const result = await call.context.executor.run(
        { command: prompt.command, origin: 'rpc', streams: 'merged', timeoutSeconds: 86_400 },
        {
          signal: AbortSignal.any([call.signal, stopping.signal]),
          onEvent: tellPromptEvents(call),
          ...(approve && { approve }),
        },
      )
      if (prompt.injected) prompts.addCommand(result, conversation)
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
  const decoder = createRunDecoder()
  return (event) => {
    const tell = (told: { type: string }) =>
      call.notify('prompt.event', { request_id: call.id, event: { ...told } })
    switch (event.type) {
      case 'output': {
        const { type, id, stream, bytes } = event
        const data = decoder.write(stream, bytes)
        return data === '' ? undefined : tell({ type, id, stream, data } as { type: string })
      }
      case 'exited': {
        const { type, id } = event
        for (const rest of decoder.end()) {
          void tell({ type: 'output', id, ...rest } as { type: string })
        }
        return tell({ type, id } as { type: string })
      }
      default:
        return tell(event)
    }
  }
}
