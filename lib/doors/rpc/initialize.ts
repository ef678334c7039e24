import { protocolVersion } from '../../executor/jobs/methods.ts'
import type { Handler } from './context.ts'

/** Who is there and what each side can do. Not needed before other methods. */
export const initialize: Handler<'initialize'> = (
  { toolNames, capabilities = {} },
  { context, client },
) => {
  client.supportsApproval = capabilities.supportsApproval ?? false
  if (toolNames) context.learnToolNames(toolNames)
  return {
    server: { name: 'nacre', version: context.version },
    protocolVersion,
    capabilities: {
      supportsShellExec: true,
      supportsShellTasks: true,
      supportsShellDetach: true,
      supportsSessions: true,
      supportsTools: true,
      supportsArtifacts: context.executor.artifacts !== null,
      supportsPrompt: true,
      supportsCancel: true,
    },
  }
}
