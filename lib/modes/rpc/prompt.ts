import { noModelMessage } from '../../agent/no-model.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { RunListener } from '../../protocol/event.ts'
import { parsePrompt } from '../../protocol/prompt.ts'
import type { Call, Handlers } from './context.ts'
import { createRunDecoder } from '../../wire/run-events.ts'

/** Turns of a conversation; `!command` is run without a model. */
export const promptMethods = {
  prompt: async ({ text }, call) => {
    const prompt = parsePrompt(text)
    if (prompt.kind !== 'command') throw new MisuseError('no_model', noModelMessage)
    const stopping = new AbortController()
    call.client.prompts.add(stopping)
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
      return { disposition: 'handled', result }
    } finally {
      call.client.prompts.delete(stopping)
    }
  },
  'prompt.cancel': (_, { client }) => {
    for (const prompt of client.prompts) prompt.abort()
    return { cancelled: client.prompts.size }
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
