import { isObject } from '../../protocol/check-value.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { RpcMethods } from '../../protocol/rpc-messages.ts'
import { defineMethod } from './method.ts'

interface InitializeParams {
  client?: Record<string, unknown>
  toolNames?: string[]
  capabilities?: Record<string, unknown>
}

/** Who is there and what each side can do. Not needed before other methods. */
export const initialize = defineMethod(
  {
    client: { type: { kind: 'object' }, description: 'Name and version of the client' },
    toolNames: { type: { kind: 'names' }, description: "Tools that the client's model has" },
    capabilities: { type: { kind: 'object' }, description: 'What the client can do' },
  },
  (
    { toolNames, capabilities = {} }: InitializeParams,
    { context, peer },
  ): RpcMethods['initialize']['result'] => {
    peer.supportsApproval = readFlag(capabilities, 'supports_approval')
    if (toolNames) context.learnToolNames(toolNames)
    return {
      server: { name: 'nacre', version: context.version },
      capabilities: {
        supports_shell_exec: true,
        supports_shell_tasks: true,
        supports_shell_detach: true,
        supports_sessions: true,
        supports_tools: true,
        supports_artifacts: context.executor.artifacts !== null,
        supports_prompt: true,
        supports_cancel: true,
      },
    }
  },
)

function readFlag(capabilities: unknown, name: string): boolean {
  const value = isObject(capabilities) ? capabilities[name] : undefined
  if (value === undefined) return false
  if (typeof value === 'boolean') return value
  const message = `\`capabilities.${name}\` must be true or false`
  throw new MisuseError('invalid_field', message, 'capabilities')
}
