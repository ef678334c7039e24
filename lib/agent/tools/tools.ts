import { unknownName } from '../../protocol/wire.ts'
import { artifactTool } from './artifact.ts'
import { bashTool } from './bash.ts'
import { bashJobTool } from './bash-job.ts'
import type { Tool } from './tool.ts'

/** The tools of a model, in the order in which it is told of them. */
export const tools: readonly Tool[] = [bashTool, bashJobTool, artifactTool]

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
