import { chmodSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import type { SocketPlace } from '../../system/socket-place.ts'
import { settleWithin } from '../../system/wait.ts'
import { connectSocket, receiveMessages } from '../../wire/connection.ts'
import { createRpcServer, type RpcServer } from '../../wire/server.ts'
import type { Jobs } from './port.ts'
import { createJobPeer, socketMethods } from './methods.ts'

/** How long an asker that does not read may hold up the end of nacre. */
const flushMs = 1000

export interface JobServer {
  readonly path: string
  /** Gives the answers that are under way first. Every job must have ended. */
  close(): Promise<void>
}

/**
 * Serves the protocol of `--rpc` on a private socket: those methods that look after jobs. Starting
 * commands is not among them. Only this user reaches the socket: its folder is nobody else's.
 */
export async function serveJobs(jobs: Jobs, place: SocketPlace): Promise<JobServer> {
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
