import { MisuseError } from '../../protocol/errors.ts'
import type { RpcContext } from './context.ts'
import type { Handlers } from './method.ts'

export const artifactMethods = {
  'artifact.read': ({ id, ...lines }, { context }) => open(context).read(id, lines),
  'artifact.grep': ({ id, context: around = 0, ...options }, { context }) =>
    open(context).grep(id, { ...options, before: around, after: around }),
  'artifact.list': async (_, { context }) => ({ artifacts: await open(context).list() }),
  'artifact.remove': async ({ id }, { context }) => {
    await open(context).remove(id)
    return { removed: true }
  },
  tool_output_cache: ({ refId, ...lines }, { context }) => open(context).read(refId, lines),
} satisfies Partial<Handlers>

function open({ executor }: RpcContext): NonNullable<RpcContext['executor']['artifacts']> {
  if (executor.artifacts) return executor.artifacts
  throw new MisuseError('not_available', 'No output is kept here: there is no state folder')
}
