import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { messageOf, MisuseError } from '../../protocol/errors.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'
import type { Jobs } from '../jobs.ts'
import type { JobAnswer, JobCall } from './job-call.ts'
import type { SocketPlace } from './socket-path.ts'

export interface JobServer {
  readonly path: string
  /** Gives the answers that are under way first. Every job must have ended. */
  close(): Promise<void>
}

/**
 * Answers other nacres of this user about the jobs of this one: a unix socket, on it one JSON object
 * a line, each call with its answer. Nobody else can reach it: its folder is this user's only.
 */
export async function serveJobs(jobs: Jobs, place: SocketPlace): Promise<JobServer> {
  const open = new Set<Socket>()
  const answers = new Set<Promise<void>>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    // Whoever asked is gone.
    socket.on('error', () => socket.destroy())
    socket.unref()
    createInterface({ input: socket }).on('line', (line) => {
      const answered = answerLine(jobs, line).then((answer) => send(socket, answer))
      answers.add(answered)
      void answered.finally(() => answers.delete(answered))
    })
  })
  await listen(server, place.path)
  chmodSync(place.path, 0o600)
  // Jobs keep nacre alive, not those who may ask for them.
  server.unref()
  return {
    path: place.path,
    async close() {
      server.close()
      await Promise.all(answers)
      for (const socket of open) socket.destroy()
      place.remove()
    },
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
}

function send(socket: Socket, answer: JobAnswer): Promise<void> {
  return new Promise((resolve) => {
    // Whoever asked may be gone: nobody is left to tell.
    if (socket.destroyed) resolve()
    else socket.write(`${JSON.stringify(toWire(answer))}\n`, () => resolve())
  })
}

async function answerLine(jobs: Jobs, line: string): Promise<JobAnswer> {
  try {
    return { result: await answerCall(jobs, fromWire(JSON.parse(line)) as JobCall) }
  } catch (error) {
    const code = error instanceof MisuseError ? error.code : 'internal'
    return { error: { code, message: messageOf(error) } }
  }
}

function answerCall(jobs: Jobs, call: JobCall): unknown {
  const { jobId } = call
  switch (call.method) {
    case 'show':
      return jobs.show(jobId)
    case 'read':
      return jobs.read(jobId, { cursor: call.cursor })
    case 'wait':
      return jobs.wait(jobId, call.timeoutSeconds)
    case 'write':
      return writeInput(jobs, call)
    case 'kill':
      return jobs.kill(jobId)
    default:
      throw new MisuseError('unknown_method', 'This nacre does not know that call')
  }
}

async function writeInput(
  jobs: Jobs,
  { jobId, text, end }: Extract<JobCall, { method: 'write' }>,
): Promise<null> {
  const written = text === '' ? null : jobs.write(jobId, text)
  if (end) jobs.endInput(jobId)
  await written
  return null
}
