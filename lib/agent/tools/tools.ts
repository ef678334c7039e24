import { unknownName } from '../../protocol/wire.ts'
import type { Executor } from '../../executor/executor.ts'
import { artifactTool } from './artifact.ts'
import { bashTool, bashToolOn } from './bash.ts'
import { bashJobTool } from './bash-job.ts'
import type { Tool, ToolContext } from './tool.ts'

/** The tools of a model, in the order in which it is told of them. */
export const tools: readonly Tool[] = [bashTool, bashJobTool, artifactTool]

/** As a model is told of them that may also run commands on these hosts. */
export function toolsWith(hosts: readonly string[]): readonly Tool[] {
  if (hosts.length === 0) return tools
  return tools.map((tool) => (tool === bashTool ? bashToolOn(hosts) : tool))
}

/** What a client, or a model, is told of the tools. */
export function describeTools(
  cwd: string,
  {
    executor,
    origin,
    fields,
  }: Pick<ToolContext, 'origin' | 'fields'> & { executor: Pick<Executor, 'parse' | 'agentHosts'> },
) {
  const { sandbox } = executor.parse({ command: ':', origin, ...fields })
  return toolsWith(executor.agentHosts).map((tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description(cwd, sandbox !== 'off'),
    inputSchema: tool.inputSchema,
    readOnly: tool.readOnly,
  }))
}

/** Throws `MisuseError` where there is no tool of this name. */
export function findTool(name: string): Tool {
  const tool = tools.find((known) => known.name === name)
  if (tool) return tool
  throw unknownName(
    'tool',
    name,
    tools.map((known) => known.name),
  )
}
