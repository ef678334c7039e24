import type { Executor } from '../../executor/executor.ts'
import { unknownName } from '../../protocol/wire.ts'
import { artifactTool } from './artifact.ts'
import { bashJobTool } from './bash-job.ts'
import { bashTool, bashToolOn } from './bash.ts'
import type { Tool, ToolContext } from './tool.ts'

/** The tools of a model, in the order in which it is told of them. */
export const tools: readonly Tool[] = [bashTool, bashJobTool, artifactTool]

/** What a client, or a model, is told of the tools. */
export function describeTools(
  cwd: string,
  executor: Pick<Executor, 'parse' | 'agentHosts'>,
  run: Pick<ToolContext, 'origin' | 'fields'>,
) {
  const { sandbox } = executor.parse({ command: ':', origin: run.origin, ...run.fields })
  const hosts = executor.agentHosts
  const told = hosts.length === 0 ? tools : [bashToolOn(hosts), ...tools.slice(1)]
  return told.map((tool) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description(cwd, sandbox !== 'off'),
    inputSchema: tool.inputSchema,
    readOnly: tool.readOnly,
  }))
}

/** Throws `MisuseError` if there is no tool of this name. */
export function findTool(name: string): Tool {
  const tool = tools.find((known) => known.name === name)
  if (tool) return tool
  const names = tools.map((known) => known.name)
  throw unknownName('tool', name, names)
}
