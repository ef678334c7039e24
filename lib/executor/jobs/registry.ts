import { chmodSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { createLazy } from '../../protocol/deferred.ts'
import type { Result } from '../../protocol/result/result.ts'
import { version } from '../../protocol/wire.ts'
import type { LiveRun } from '../run.ts'
import { makePrivateFolder } from '../../system/private-files.ts'
import { findSocketPlace, type SocketPlace } from '../../system/temporary-folder.ts'
import { settleWithin } from '../../system/clock.ts'
import { connectSocket, receiveMessages } from '../../wire/connection.ts'
import {
  bindMethods,
  cancelHandler,
  createRpcServer,
  type Handlers,
  type WireCall,
} from '../../wire/server.ts'
import type { Jobs } from './port.ts'
import {
  type JobRecord,
  pruneJobs,
  recordOf,
  removeRecord,
  writeEnd,
  writeRecord,
} from './record.ts'

export type Registry = ReturnType<typeof createRegistry>

/** A nacre that lives long must not fill the disk with what it has ended. */
const endsBetweenPrunings = 32

/**
 * Makes the runs of a holder known to every nacre of this user. `dir` is the folder of the jobs. The socket opens
 * with the first run.
 */
export function createRegistry(dir: string, jobs: Jobs) {
  /** The ends of declared runs, which are yet to be written. */
  const ends = new Set<Promise<void>>()
  const server = createLazy(async () => {
    makePrivateFolder(dir)
    pruneJobs(dir)
    return serveJobs(jobs, findSocketPlace(dir))
  })
  let written = 0

  /** Leaves the end of a job where every nacre finds it. */
  async function conclude(run: LiveRun, record: JobRecord): Promise<void> {
    await run.ended
    try {
      if (!run.isJob && run.request.array === null) return removeRecord(dir, run.id)
      const { process, socket } = record
      writeEnd(dir, { ...recordOf(run), process, socket }, run.kept())
      if (++written % endsBetweenPrunings === 0) pruneJobs(dir)
    } catch (error) {
      tellUnseen(run, error)
    }
  }

  function tellUnseen(run: LiveRun, error: unknown): void {
    const byItself = run.pid === null ? '' : `; to stop it: kill -- -${run.pid}`
    run.hide(`\`nacre job\` cannot find this job${byItself} (${messageOf(error)})`)
  }

  return {
    /**
     * Declares a run. Its end is written when it comes, if it is a job by then; else nothing is left of it.
     * Never rejects: what could not be written is a notice of the run.
     */
    async declare(run: LiveRun): Promise<void> {
      // The record is drafted first, since a process that ends meanwhile is gone from the process table.
      const draft = recordOf(run)
      try {
        const record = { ...draft, socket: (await server.open()).path }
        writeRecord(dir, record)
        const end = conclude(run, record).finally(() => ends.delete(end))
        ends.add(end)
      } catch (error) {
        tellUnseen(run, error)
      }
    },

    async close(): Promise<void> {
      await Promise.all(ends)
      await server.made?.close()
    },
  }
}

/** How long an asker that does not read may hold up the end of nacre. */
const flushMs = 1000

/**
 * Serves the protocol of `--rpc` on a private socket: those methods that look after jobs. Starting
 * commands is not among them. Only this user reaches the socket: its folder is nobody else's.
 */
async function serveJobs(jobs: Jobs, place: SocketPlace) {
  const served = new Set<{ close(): Promise<void> }>()
  const server = createServer((socket) => {
    const connection = connectSocket(socket)
    const peer = createJobPeer()
    const rpc = createRpcServer({
      connection,
      methods: socketMethods,
      prepare: (call) => Object.assign(call, { jobs, peer }),
    })
    const one = {
      async close() {
        await rpc.idle()
        await settleWithin(flushMs, connection.end())
        socket.destroy()
      },
    }
    served.add(one)
    socket.on('close', () => {
      served.delete(one)
      rpc.cancelAll()
    })
    // The one who asked is gone; `close` follows and does what is to be done.
    socket.on('error', () => socket.destroy())
    // Only its jobs keep nacre alive; a connection that asks nothing does not.
    socket.unref()
    void receiveMessages(socket, connection, rpc)
  })
  try {
    await once(server.listen(place.path), 'listening')
  } catch (error) {
    place.remove()
    throw error
  }
  chmodSync(place.path, 0o600)
  server.unref()
  return {
    path: place.path,
    /** Gives the answers that are under way first. Every job must have ended. */
    async close(): Promise<void> {
      server.close()
      await Promise.all([...served].map((one) => one.close()))
      place.remove()
    },
  }
}

/** What the methods that look after jobs need to know of a request. */
export interface JobCall extends WireCall {
  readonly jobs: Jobs
  readonly peer: JobPeer
}

export type JobPeer = ReturnType<typeof createJobPeer>

/** What is kept for one connection: who waits on it for which run. */
export function createJobPeer() {
  const waits = new Set<{ ids: readonly string[]; leave: () => void }>()
  return {
    /** Registers a wait, which `leave` ends; gives what takes it back. */
    wait(ids: readonly string[], leave: () => void): () => void {
      const entry = { ids, leave }
      waits.add(entry)
      return () => void waits.delete(entry)
    },
    /** Ends every wait for this run. False: nobody waits for it here. */
    detach(id: string): boolean {
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

/** What is answered to `initialize`; `hasAll`: all methods are there, not only those of jobs. */
export function describeServer(hasAll: boolean, artifacts: unknown = null) {
  return {
    server: { name: 'nacre', version },
    /** It grows when a client must know. */
    protocolVersion: 1,
    capabilities: {
      supportsShellExec: hasAll,
      supportsShellTasks: true,
      supportsShellDetach: true,
      supportsSessions: hasAll,
      supportsTools: hasAll,
      supportsArtifacts: artifacts !== null,
      supportsPrompt: hasAll,
      supportsCancel: true,
    },
  }
}

/** What the socket of a nacre that holds jobs serves: no command can be started there. */
const socketMethods = bindMethods<JobCall, keyof typeof jobHandlers | 'initialize' | '$/cancel'>({
  initialize: () => describeServer(false),
  ...jobHandlers,
  '$/cancel': cancelHandler,
})
