import { chmodSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { messageOf } from '../../protocol/errors.ts'
import { createLazy } from '../../protocol/deferred.ts'
import type { LiveRun } from '../run.ts'
import { identifyProcess, identifySelf } from '../../system/process/process-table.ts'
import { makePrivateFolder } from '../../system/private-files.ts'
import { findSocketPlace, type SocketPlace } from '../../system/temporary-folder.ts'
import { settleWithin } from '../../system/clock.ts'
import { connectSocket, receiveMessages } from '../../wire/connection.ts'
import { createRpcServer, type RpcServer } from '../../wire/server.ts'
import { createJobPeer, socketMethods } from './methods.ts'
import type { Jobs } from './port.ts'
import { type JobRecord, pruneJobs, removeRecord, writeEnd, writeRecord } from './record.ts'

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
    const place = findSocketPlace(dir)
    try {
      return await serveJobs(jobs, place)
    } catch (error) {
      place.remove()
      throw error
    }
  })
  let written = 0

  /** Leaves the end of a job where every nacre finds it. */
  async function conclude(run: LiveRun, record: JobRecord): Promise<void> {
    const result = await run.ended
    try {
      if (!run.isJob && run.request.array === null) return removeRecord(dir, run.id)
      const { artifact, stderrArtifact = null } = result
      const endedAt = new Date().toISOString()
      writeEnd(dir, { ...record, endedAt, artifact, stderrArtifact, result }, run.kept())
      if (++written % endsBetweenPrunings === 0) pruneJobs(dir)
    } catch (error) {
      tellUnseen(run, error)
    }
  }

  function tellUnseen(run: LiveRun, error: unknown): void {
    const byItself = run.pid === null ? '' : `; to stop it: kill -- -${run.pid}`
    run.notice(`\`nacre job\` cannot find this job${byItself} (${messageOf(error)})`)
  }

  return {
    /**
     * Declares a run. Its end is written when it comes, if it is a job by then; else nothing is left of it.
     * Never rejects: what could not be written is a notice of the run.
     */
    async declare(run: LiveRun): Promise<void> {
      // The record is drafted first, since a process that ends meanwhile is gone from the process table.
      const draft = draftRecord(run)
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

function draftRecord(run: LiveRun): JobRecord {
  const { request, pid } = run
  const { artifact, stderrArtifact = null } = run.look()
  return {
    id: request.id,
    command: request.command,
    cwd: request.cwd,
    origin: request.origin,
    belongsTo: request.belongsTo,
    pty: request.pty,
    process: pid === null ? null : identifyProcess(pid),
    group: run.group,
    owner: identifySelf(),
    socket: null,
    startedAt: run.startedAt,
    endedAt: null,
    artifact,
    stderrArtifact,
    result: null,
    kept: run.place && { request, place: run.place },
  }
}

/** How long an asker that does not read may hold up the end of nacre. */
const flushMs = 1000

interface JobServer {
  readonly path: string
  /** Gives the answers that are under way first. Every job must have ended. */
  close(): Promise<void>
}

/**
 * Serves the protocol of `--rpc` on a private socket: those methods that look after jobs. Starting
 * commands is not among them. Only this user reaches the socket: its folder is nobody else's.
 */
async function serveJobs(jobs: Jobs, place: SocketPlace): Promise<JobServer> {
  const served = new Set<{ socket: Socket; rpc: RpcServer; flush: () => Promise<void> }>()
  const server = createServer((socket) => {
    const one = serveSocket(socket, jobs)
    served.add(one)
    socket.on('close', () => {
      served.delete(one)
      one.rpc.cancelAll()
    })
    // The one who asked is gone; `close` follows and does what is to be done.
    socket.on('error', () => socket.destroy())
    // Only its jobs keep nacre alive; a connection that asks nothing does not.
    socket.unref()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(place.path, resolve)
  })
  chmodSync(place.path, 0o600)
  server.unref()
  return {
    path: place.path,
    async close() {
      server.close()
      await Promise.all(
        [...served].map(async ({ socket, rpc, flush }) => {
          await rpc.idle()
          await settleWithin(flushMs, flush())
          socket.destroy()
        }),
      )
      place.remove()
    },
  }
}

function serveSocket(socket: Socket, jobs: Jobs) {
  const connection = connectSocket(socket)
  const peer = createJobPeer()
  const rpc = createRpcServer({
    connection,
    methods: socketMethods,
    prepare: (call) => Object.assign(call, { jobs, peer }),
  })
  void receiveMessages(socket, connection, rpc)
  return { socket, rpc, flush: () => connection.end() }
}
