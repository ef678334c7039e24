import { findTool, tools } from '../../agent/tools/tools.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { Handlers } from './context.ts'
import { notifyOfRun } from '../../wire/run-events.ts'

/** The model's tools, for hosts that bring their own model. */
export const toolMethods = {
  'tool.list': (_, { context }) => ({
    tools: tools.map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: tool.description(context.cwd),
      inputSchema: tool.inputSchema,
      readOnly: tool.readOnly,
    })),
  }),
  'tool.call': async ({ name, arguments: given = {}, stream }, call) =>
    toolOf(name).call(given, {
      executor: call.context.executor,
      origin: 'agent',
      signal: call.signal,
      ...(stream && { onEvent: notifyOfRun(call, true) }),
      ...(call.approve && { approve: call.approve }),
    }),
} satisfies Partial<Handlers>

/** A tool that is not there is a wrong value of the parameter `name`. */
function toolOf(name: string) {
  try {
    return findTool(name.slice(0, 100))
  } catch (error) {
    if (!(error instanceof MisuseError)) throw error
    throw new MisuseError('invalid_field', error.message, 'name')
  }
}
