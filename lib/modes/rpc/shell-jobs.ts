import { MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Handlers } from './method.ts'
import { notifyOfRun } from './run-events.ts'

/** Runs that nobody has to wait for. */
export const shellJobs = {
  /** `shell.started` and `shell.exited` are always told, output when it is asked for. */
  'shell.start': ({ stream = false, ...fields }, call) => {
    const { approve, context } = call
    return context.executor.run(
      { streams: 'merged', ...fields, mode: 'background', origin: 'rpc' },
      { onEvent: notifyOfRun(call, stream), ...(approve && { approve }) },
    )
  },
  'shell.status': ({ id }, { context }) => context.executor.jobs.show(id),
  'shell.list': (_, { context }) => {
    const jobs = context.executor.jobs.list()
    return { jobs: jobs.map(({ output: _1, stdout: _2, stderr: _3, ...job }) => job) }
  },
  'shell.output': ({ id, cursor }, { context }) =>
    context.executor.jobs.read(id, { cursor: cursor ?? 0 }),
  'shell.wait': async ({ id, timeoutSeconds = limits.jobWaitSeconds }, { context, signal }) => {
    const { jobs } = context.executor
    const ended = jobs.wait(id, timeoutSeconds)
    return (await untilAborted(ended, signal)) ?? jobs.show(id)
  },
  'shell.detach': ({ id }, { context, peer }) => {
    context.executor.jobs.show(id)
    const leave = peer.detachable.get(id)
    if (!leave) {
      throw new MisuseError('not_waiting', `Nobody on this connection waits for \`${id}\``)
    }
    leave()
    return context.executor.jobs.show(id)
  },
  'shell.cancel': ({ id }, { context }) => context.executor.jobs.kill(id, 'cancel'),
  'shell.input': async ({ id, data, end }, { context }) => {
    const { jobs } = context.executor
    const written = data === '' ? null : jobs.write(id, data)
    if (end) jobs.endInput(id)
    await written
    return {}
  },
  'shell.resize': ({ id, columns, rows }, { context }) => {
    context.executor.jobs.resize(id, columns, rows)
    return {}
  },
} satisfies Partial<Handlers>

/** Null where `signal` aborts before. */
function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
