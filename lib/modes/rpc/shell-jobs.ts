import { MisuseError } from '../../protocol/errors.ts'
import { fields } from '../../protocol/fields.ts'
import { limits } from '../../protocol/limits.ts'
import type { Param } from '../../protocol/params.ts'
import { toWire } from '../../protocol/wire.ts'
import { defineMethod, type Method, noParams } from './method.ts'
import { notifyOfRun } from './run-events.ts'
import { type RunCall, shellStartParams } from './run-params.ts'

const id: Param = {
  type: { kind: 'string', hint: 'id' },
  description: 'The id of the run',
  required: true,
}

interface ByJob {
  id: string
}

/** Runs that nobody has to wait for. */
export const shellJobs: Readonly<Record<string, Method>> = {
  /** `shell.started` and `shell.exited` are always told, output when it is asked for. */
  'shell.start': defineMethod(shellStartParams, async (params: RunCall, call) => {
    const { approve, context } = call
    const { stream = false, ...fields } = params
    const result = await context.executor.run(
      { streams: 'merged', ...fields, mode: 'background', origin: 'rpc' },
      { onEvent: notifyOfRun(call, stream), ...(approve && { approve }) },
    )
    return toWire(result)
  }),
  'shell.status': defineMethod({ id }, (params: ByJob, { context }) =>
    toWire(context.executor.jobs.show(params.id)),
  ),
  'shell.list': defineMethod(noParams, (_, { context }) => {
    const jobs = context.executor.jobs.list()
    return { jobs: jobs.map(({ output: _1, stdout: _2, stderr: _3, ...job }) => toWire(job)) }
  }),
  'shell.output': defineMethod(
    {
      id,
      cursor: {
        type: { kind: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER },
        description: 'Where the last reading ended (default 0, the beginning)',
      },
    },
    (params: ByJob & { cursor?: number }, { context }) =>
      toWire(context.executor.jobs.read(params.id, { cursor: params.cursor ?? 0 })),
  ),
  'shell.wait': defineMethod(
    {
      id,
      timeoutSeconds: {
        type: { kind: 'within', above: 0, max: limits.jobWaitSeconds },
        description: `Wait at most so long (default ${limits.jobWaitSeconds})`,
      },
    },
    async (
      { id, timeoutSeconds = limits.jobWaitSeconds }: ByJob & { timeoutSeconds?: number },
      { context, signal },
    ) => {
      const { jobs } = context.executor
      const ended = jobs.wait(id, timeoutSeconds)
      return toWire((await untilAborted(ended, signal)) ?? jobs.show(id))
    },
  ),
  'shell.detach': defineMethod({ id }, ({ id }: ByJob, { context, peer }) => {
    context.executor.jobs.show(id)
    const leave = peer.detachable.get(id)
    if (!leave) {
      throw new MisuseError('not_waiting', `Nobody on this connection waits for \`${id}\``)
    }
    leave()
    return toWire(context.executor.jobs.show(id))
  }),
  'shell.cancel': defineMethod({ id }, async ({ id }: ByJob, { context }) =>
    toWire(await context.executor.jobs.kill(id, 'cancel')),
  ),
  'shell.input': defineMethod(
    {
      id,
      data: { type: { kind: 'text' }, description: 'What is typed', required: true },
      end: {
        type: { kind: 'boolean' },
        description: 'Nothing more will come: the end of its input (default false)',
      },
    },
    async ({ id, data, end }: ByJob & { data: string; end?: boolean }, { context }) => {
      const { jobs } = context.executor
      const written = data === '' ? null : jobs.write(id, data)
      if (end) jobs.endInput(id)
      await written
      return {}
    },
  ),
  'shell.resize': defineMethod(
    {
      id,
      columns: { ...fields.columns, required: true },
      rows: { ...fields.rows, required: true },
    },
    ({ id, columns, rows }: ByJob & { columns: number; rows: number }, { context }) => {
      context.executor.jobs.resize(id, columns, rows)
      return {}
    },
  ),
}

/** Null where `signal` aborts before. */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
