import { findTool, tools } from '../../agent/tools/tools.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { defineMethod, type Method, noParams } from './method.ts'
import { notifyOfRun } from './run-events.ts'

interface ToolCall {
  name: string
  arguments?: Record<string, unknown>
  stream?: boolean
}

/** The model's tools, for hosts that bring their own model. */
export const toolMethods: Readonly<Record<string, Method>> = {
  'tool.list': defineMethod(noParams, (_, { context }) => ({
    tools: tools.map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: tool.description(context.cwd),
      input_schema: tool.inputSchema,
      read_only: tool.readOnly,
    })),
  })),
  'tool.call': defineMethod(
    {
      name: { type: { kind: 'string', hint: 'name' }, description: 'Which tool', required: true },
      arguments: { type: { kind: 'object' }, description: 'As its input_schema says' },
      stream: {
        type: { kind: 'boolean' },
        description: 'Send notifications while its command runs (default false)',
      },
    },
    async (params: ToolCall, call) => {
      const { executor } = call.context
      const { content, isError, details } = await toolOf(params.name).call(params.arguments ?? {}, {
        executor,
        origin: 'agent',
        signal: call.signal,
        ...(params.stream && { onEvent: notifyOfRun(call, true) }),
        ...(call.approve && { approve: call.approve }),
      })
      return { content, is_error: isError, details }
    },
  ),
}

/** A tool that is not there is a wrong value of the parameter `name`. */
function toolOf(name: string) {
  try {
    return findTool(name.slice(0, 100))
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw new MisuseError('invalid_field', error.message, 'name')
  }
}
