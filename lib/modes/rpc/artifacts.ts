import type { ArtifactStore } from '../../executor/executor.ts'
import type { LineRange } from '../../protocol/artifacts.ts'
import { MisuseError } from '../../protocol/errors.ts'
import type { Param, Params } from '../../protocol/params.ts'
import { toWire } from '../../protocol/wire.ts'
import type { RpcContext } from './context.ts'
import { defineMethod, type Method, noParams } from './method.ts'

const id: Param = {
  type: { kind: 'string', hint: 'id' },
  description: 'The id of the artifact',
  required: true,
}
const count = { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER } as const

const range: Params = {
  offset: { type: count, description: 'Lines to pass over: next_offset of the call before' },
  limit: { type: count, description: 'How many lines' },
  head: { type: count, description: 'The first lines' },
  tail: { type: count, description: 'The last lines' },
}

interface GrepParams {
  id: string
  pattern: string
  context?: number
  offset?: number
  limit?: number
}

export const artifactMethods: Readonly<Record<string, Method>> = {
  'artifact.read': defineMethod(
    { id, ...range },
    async ({ id, ...lines }: { id: string } & LineRange, { context }) =>
      toWire(await open(context).read(id, lines)),
  ),
  'artifact.grep': defineMethod(
    {
      id,
      pattern: {
        type: { kind: 'string', hint: 'regex' },
        description: 'A regular expression',
        required: true,
      },
      context: { type: count, description: 'Lines around each match (default 0)' },
      offset: { type: count, description: 'Lines to pass over: next_offset of the call before' },
      limit: { type: count, description: 'Matches at most (default 200)' },
    },
    async ({ id, pattern, context: lines, ...rest }: GrepParams, { context }) =>
      toWire(
        await open(context).grep(id, { pattern, before: lines ?? 0, after: lines ?? 0, ...rest }),
      ),
  ),
  'artifact.list': defineMethod(noParams, async (_, { context }) => ({
    artifacts: toWire(await open(context).list()),
  })),
  'artifact.remove': defineMethod({ id }, async ({ id }: { id: string }, { context }) => {
    await open(context).remove(id)
    return { removed: true }
  }),
  tool_output_cache: defineMethod(
    { refId: id, ...range },
    async ({ refId, ...lines }: { refId: string } & LineRange, { context }) =>
      toWire(await open(context).read(refId, lines)),
  ),
}

function open({ executor: { artifacts } }: RpcContext): ArtifactStore {
  if (artifacts) return artifacts
  throw new MisuseError('not_available', 'No output is kept here: there is no state folder')
}
