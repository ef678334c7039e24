import { MisuseError } from '../../protocol/errors.ts'
import type { RpcContext } from './context.ts'
import type { Handlers } from './context.ts'

export const artifactMethods = {
  'artifact.read': ({ id, ...range }, { context, signal }) =>
    open(context).read(id, range, { signal }),
  'artifact.grep': ({ id, context: around = 0, ...options }, { context, signal }) =>
    open(context).grep(id, { ...options, before: around, after: around, signal }),
  'artifact.list': async (_, { context }) => ({ artifacts: await open(context).list() }),
  'artifact.remove': async ({ id }, { context }) => {
    await open(context).remove(id)
    return { removed: true }
  },
  tool_output_cache: ({ refId, ...range }, { context, signal }) =>
    open(context).read(refId, range, { signal }),
} satisfies Partial<Handlers>

function open({ executor }: RpcContext): NonNullable<RpcContext['executor']['artifacts']> {
  if (executor.artifacts) return executor.artifacts
  throw new MisuseError('not_available', 'No output is kept here: there is no state folder')
}
