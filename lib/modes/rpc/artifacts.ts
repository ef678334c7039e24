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
const skipped = { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER } as const
const count = { ...skipped, min: 1 } as const

const offset: Param = {
  type: skipped,
  description: 'Lines to pass over: `next_offset` of the answer before (default 0)',
}
const range: Params = {
  offset,
  limit: { type: count, description: 'How many lines (default 2000)' },
  head: { type: count, description: 'The first lines' },
  tail: { type: count, description: 'The last lines' },
}

interface GrepParams {
  id: string
  pattern: string
  context?: number
  ignoreCase?: boolean
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
      context: { type: skipped, description: 'Lines around each match (default 0)' },
      ignoreCase: { type: { kind: 'boolean' }, description: 'Take a for A (default false)' },
      offset,
      limit: { type: count, description: 'How many matches (default 200)' },
    },
    async ({ id, context: around = 0, ...options }: GrepParams, { context }) =>
      toWire(await open(context).grep(id, { ...options, before: around, after: around })),
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

function open({ executor }: RpcContext): NonNullable<RpcContext['executor']['artifacts']> {
  if (executor.artifacts) return executor.artifacts
  throw new MisuseError('not_available', 'No output is kept here: there is no state folder')
}
