import { MisuseError } from '../../protocol/errors.ts'
import type { Result } from '../../protocol/result/result.ts'
import { version } from '../../protocol/wire.ts'
import { bindMethods, cancelHandler, type Handlers, type WireCall } from '../../wire/server.ts'
import type { Jobs } from './port.ts'

/** What the methods that look after jobs need to know of a request. */
export interface JobCall extends WireCall {
  readonly jobs: Jobs
  readonly peer: JobPeer
}

/** What is kept for one connection: who waits on it for which run. */
export interface JobPeer {
  /** Registers a wait, which `leave` ends; gives what takes it back. */
  wait(ids: readonly string[], leave: () => void): () => void
  /** Ends every wait for this run. False: nobody waits for it here. */
  detach(id: string): boolean
}

export function createJobPeer(): JobPeer {
  const waits = new Set<{ ids: readonly string[]; leave: () => void }>()
  return {
    wait(ids, leave) {
      const entry = { ids, leave }
      waits.add(entry)
      return () => void waits.delete(entry)
    },
    detach(id) {
      const found = [...waits].filter(({ ids }) => ids.includes(id))
      for (const { leave } of found) leave()
      return found.length > 0
    },
  }
}

/** The methods that look after the jobs of every nacre of this user. */
export const jobHandlers = {
  'shell.status': ({ id }, { jobs }) => jobs.show(id),
  async 'shell.list'(filter, { jobs }) {
    const damaged = await jobs.listDamaged()
    return { jobs: await jobs.list(filter), ...(damaged.length > 0 && { damaged }) }
  },
  'shell.tasks': async ({ id }, { jobs }) => ({ tasks: await jobs.tasks(id) }),
  'shell.resume': ({ id }, { jobs }) => jobs.resume(id),
  'shell.output': ({ id, ...reading }, { jobs }) => jobs.read(id, reading),

  async 'shell.wait'({ id, ids, ...how }, { jobs, peer, signal }) {
    const named = ids ?? (id === undefined ? [] : [id])
    if (named.length === 0 || (ids && id !== undefined)) {
      throw new MisuseError('missing_field', 'Name one job by `id`, or several by `ids`', 'id')
    }
    const results = await untilLeft(peer, named, signal, (either) =>
      jobs.waitFor(named, { ...how, signal: either }),
    )
    const first = results.find(({ status }) => status !== 'running') ?? results[0]
    return { ...(first as Result), ...(ids && { jobs: results }) }
  },
  'shell.attach': ({ id }, call) =>
    untilLeft(call.peer, [id], call.signal, (signal) => call.jobs.follow(id, call, signal)),
  async 'shell.detach'({ id }, { jobs, peer }) {
    const before = await jobs.show(id)
    if (peer.detach(id)) return jobs.show(before.id)
    throw new MisuseError('not_waiting', `Nobody on this connection waits for \`${id}\``)
  },
  'shell.cancel': ({ id, reason = 'cancel' }, { jobs }) => jobs.kill(id, reason),
  async 'shell.input'({ id, data, end = false }, { jobs }) {
    if (data === undefined && !end) {
      throw new MisuseError('missing_field', 'Send `data`, or `end: true`, or both', 'data')
    }
    await jobs.write(id, data ?? '', { end })
    return {}
  },
  async 'shell.resize'({ id, columns, rows }, { jobs }) {
    await jobs.resize(id, columns, rows)
    return {}
  },
} satisfies Partial<Handlers<JobCall>>

/** Waits until `act` is done, the request is cancelled, or `shell.detach` names one of the runs. */
async function untilLeft<Value>(
  peer: JobPeer,
  ids: readonly string[],
  signal: AbortSignal,
  act: (either: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const leaving = new AbortController()
  const over = peer.wait(ids, () => leaving.abort())
  try {
    return await act(AbortSignal.any([signal, leaving.signal]))
  } finally {
    over()
  }
}

/** The version of the protocol; it grows when a client must know. */
export const protocolVersion = 1

/** What the socket of a nacre that holds jobs serves: no command can be started there. */
export const socketMethods = bindMethods<
  JobCall,
  keyof typeof jobHandlers | 'initialize' | '$/cancel'
>({
  initialize: () => ({
    server: { name: 'nacre', version },
    protocolVersion,
    capabilities: {
      supportsShellExec: false,
      supportsShellTasks: true,
      supportsShellDetach: true,
      supportsSessions: false,
      supportsTools: false,
      supportsArtifacts: false,
      supportsPrompt: false,
      supportsCancel: true,
    },
  }),
  ...jobHandlers,
  '$/cancel': cancelHandler,
})
