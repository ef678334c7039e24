import { connect } from 'node:net'
import type { Executor, Run } from '../../executor/executor.ts'
import { wrongUsage } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { option } from '../../protocol/request/fields.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { leaveGroupOfRun } from '../../system/process/own-process.ts'
import { connectSocket, receiveMessages } from '../../wire/connection.ts'
import { encodeEvent } from '../../wire/messages.ts'
import { bindMethods, cancelHandler, createRpcServer, type WireCall } from '../../wire/server.ts'
import type { Command } from '../../doors/command.ts'

/**
 * The process that holds a run of print whose caller may leave before its end. It is asked for one run
 * over the socket that its caller made, takes it the whole way through an executor like any front door,
 * and stays until the run has ended.
 */
export const command: Command = {
  name: 'supervise',
  usage: 'nacre supervise <socket>',
  description: 'Hold a run that outlives its caller (nacre starts this by itself)',
  flags: [option('artifact-dir', shape.text('', { hint: 'dir' }), 'Keep artifacts in this folder')],
  examples: ["nacre -c 'npm run dev' --background"],
  hidden: true,
  takesRunOptions: true,
  takesPromptOptions: true,
  leavesRuns: true,
  run({ positionals: [path], useExecutor }) {
    if (path === undefined) throw wrongUsage('Name the socket of the caller')
    // The caller may be part of a run of another nacre; the stop of that run must not end the job.
    leaveGroupOfRun()
    return useExecutor((executor, signal) => supervise(path, executor, signal))
  },
}

/** A caller asks at once, or never. */
const neverAskedMs = 15_000

async function supervise(path: string, executor: Executor, ending: AbortSignal): Promise<number> {
  let started: Promise<Run> | null = null
  let isAnswered = false
  const socket = connect(path)
  const connection = connectSocket(socket)
  const left = new AbortController()
  const methods = bindMethods<WireCall, 'supervise' | '$/cancel'>({
    async supervise({ request, supportsApproval }, call) {
      const signal = AbortSignal.any([ending, call.signal])
      started = executor.start(request, {
        signal,
        approve: supportsApproval
          ? (asked, verdict) => rpc.ask(asked, verdict, AbortSignal.any([signal, left.signal]))
          : undefined,
        // The answer `closed` of a caller that has gone is dropped, since the run goes on without it.
        onEvent: async (event) => void (await call.notify('run.event', encodeEvent(event))),
      })
      const run = await started
      const result = await run.result
      isAnswered = true
      // The caller has no other way to a job than `nacre job`.
      return run.isHidden ? { ...result, jobId: null } : result
    },
    '$/cancel': cancelHandler,
  })
  const rpc = createRpcServer({ connection, methods, prepare: (call) => call })
  // Deno does not always hear that a caller was killed before it asked.
  const silence = setTimeout(() => {
    if (started === null) socket.destroy()
  }, neverAskedMs)
  const silent = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await Promise.race([receiveMessages(socket, connection, rpc), silent])
  clearTimeout(silence)
  left.abort()

  // By now the caller has its answer, or it was killed while it waited; its run is a job then.
  const run = await waitForStart(started)
  if (run === null) return 0
  if (!isAnswered) run.detach()
  await holdToEnd(run)
  return 0
}

/** Null where nothing was asked for, or it was misuse, which the caller was told. */
async function waitForStart(started: Promise<Run> | null): Promise<Run | null> {
  return started?.catch(() => null) ?? null
}

/** What goes on without anybody ends after a day. */
export async function holdToEnd(run: Run): Promise<void> {
  const timer = setTimeout(() => void run.stop('timeout'), limits.supervisedSeconds * 1000)
  await run.ended
  clearTimeout(timer)
}
