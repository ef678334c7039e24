import type { Handler } from './method.ts'

/** The version of this protocol; it grows when a client must know. */
const protocolVersion = 1

/** Who is there and what each side can do. Not needed before other methods. */
export const initialize: Handler<'initialize'> = (
  { toolNames, capabilities = {} },
  { context, peer },
) => {
  peer.supportsApproval = capabilities.supportsApproval ?? false
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
