import { chmodSync, rmdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { codeOf } from '../../protocol/errors.ts'
import { createId } from '../../protocol/ids.ts'
import { createLineReader, parseJsonLine } from '../../protocol/json-lines.ts'
import { maxLineBytes, type MethodName, type RpcMethods } from '../../protocol/rpc/messages.ts'
import { makeTemporaryFolder } from '../../system/temporary-folder.ts'
import { type CallerOptions, createCaller, RpcError } from '../../wire/client.ts'
import { createConnection } from '../../wire/connection.ts'
import { fromErrorObject } from '../../wire/errors.ts'
import { createRpcServer, type RpcServer } from '../../wire/server.ts'
import type { Jobs } from './port.ts'
import { createJobPeer, socketMethods } from './methods.ts'

/** `sun_path` of unix(7) holds 108 bytes on Linux and 104 on macOS, its NUL included. */
const pathMaxBytes = 103

/** A place for a socket, in the folder of the jobs where its name is short enough. */
export interface SocketPlace {
  path: string
  remove(): void
}

/** The name tells whose socket it is, so that another nacre can clear it away. */
export function findSocketPlace(dir: string): SocketPlace {
  const name = `${process.pid}-${createId('s').slice(2, 10)}.sock`
  const path = join(dir, name)
  if (Buffer.byteLength(path) <= pathMaxBytes) {
    return { path, remove: () => rmSync(path, { force: true }) }
  }
  // The folder has the mode 0700.
  const short = join(makeTemporaryFolder('job'), 's')
  return {
    path: short,
    remove() {
      rmSync(short, { force: true })
      rmdirSync(dirname(short))
    },
  }
}

/** The process that made a socket of this name; null where it is no socket of a nacre. */
export function ownerOfSocket(name: string): number | null {
  const pid = /^(\d+)-[a-z2-7]+\.sock$/.exec(name)?.[1]
  return pid === undefined ? null : Number(pid)
}

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
    // Whoever asked is gone, which `close` tells.
    socket.on('error', () => socket.destroy())
    // Jobs keep nacre alive, not those who may ask for them.
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
          let timer: NodeJS.Timeout | undefined
          const late = new Promise<void>((resolve) => {
            timer = setTimeout(resolve, flushMs)
          })
          await Promise.race([flush(), late])
          clearTimeout(timer)
          socket.destroy()
        }),
      )
      place.remove()
    },
  }
}

function serveSocket(socket: Socket, jobs: Jobs) {
  const connection = createConnection({
    write: (text) =>
      new Promise((resolve) => {
        if (socket.destroyed) resolve('closed')
        else socket.write(text, (error) => resolve(error ? 'closed' : undefined))
      }),
    get closed() {
      return socket.destroyed
    },
  })
  const peer = createJobPeer()
  const rpc = createRpcServer({
    connection,
    methods: socketMethods,
    prepare: (call) => ({ ...call, jobs, peer }),
  })
  const reader = createLineReader({
    maxBytes: maxLineBytes,
    onLine(line) {
      let message: unknown
      try {
        message = parseJsonLine(line)
      } catch {
        rpc.refuse('The line is not JSON')
        return
      }
      rpc.receive(message)
    },
    onTooLong: () => rpc.refuse(`A line must not be longer than ${maxLineBytes} bytes`),
  })
  socket.on('data', (chunk) => {
    reader.write(chunk)
    const room = connection.roomToRead
    if (room === null) return
    socket.pause()
    void room.then(() => socket.resume())
  })
  return { socket, rpc, flush: () => connection.end() }
}

/** The owner of a job cannot be asked any more: it has ended, or is about to. */
export class OwnerGone extends Error {
  override readonly name = 'OwnerGone'
}

/**
 * Asks the owner of a job through its socket. Rejects with `MisuseError` where the owner refuses, and
 * with `OwnerGone`.
 */
export async function askOwner<Name extends MethodName>(
  path: string,
  method: Name,
  params: RpcMethods[Name]['params'],
  options: CallerOptions & { signal?: AbortSignal | undefined } = {},
): Promise<RpcMethods[Name]['result']> {
  const socket = connect(path)
  const caller = createCaller({ input: socket, output: socket }, options, () => socket.destroy())
  let refusal: Error | null = null
  socket.once('error', (error) => {
    const gone = ['ENOENT', 'ECONNREFUSED', 'EPIPE', 'ECONNRESET'].includes(codeOf(error) ?? '')
    if (!gone) refusal = error
    caller.fail(error.message)
  })
  socket.once('close', () => caller.fail('The nacre that held the job has ended'))
  try {
    return await caller.request(method, params, { signal: options.signal })
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (error.code !== 0) throw fromErrorObject(error)
    throw refusal ?? new OwnerGone(error.message)
  } finally {
    socket.destroy()
  }
}
