import { connect } from 'node:net'
import type { Executor, Run } from '../executor/executor.ts'
import { reap } from '../executor/jobs/killed.ts'
import { mayOutlive } from '../executor/wait.ts'
import { wrongUsage } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { shutdown } from '../protocol/ports.ts'
import { option } from '../protocol/request/fields.ts'
import * as shape from '../protocol/shape/shape.ts'
import { leaveGroupOfRun } from '../system/process/own-process.ts'
import { connectSocket, receiveMessages } from '../wire/connection.ts'
import { bindMethods, cancelHandler, createRpcServer, type WireCall } from '../wire/server.ts'
import { encodeEvent } from '../wire/messages.ts'
import type { Command } from '../doors/command.ts'

/**
 * The holder: the process of the runs that may outlive the nacre which asks for them. It is asked over the socket
 * that its caller made, takes each run the whole way through an executor like any front door, and stays until
 * its caller has gone and the last run has ended.
 */
export const command: Command = {
  name: 'supervise',
  usage: 'nacre supervise <socket>',
  description: 'Hold runs that outlive their caller (nacre starts this by itself)',
  flags: [
    option('artifact-dir', shape.text('', { hint: 'dir' }), 'Keep artifacts in this folder'),
    option('tool-names', shape.list(shape.text('', { hint: 'name' })), 'Tools that the model has'),
  ],
  examples: ["nacre -c 'npm run dev' --background"],
  hidden: true,
  takesRunOptions: true,
  takesPromptOptions: true,
  leavesRuns: true,
  run({ positionals: [path], options, useExecutor }) {
    if (path === undefined) throw wrongUsage('Name the socket of the caller')
    // The caller may be part of a run of another nacre; the stop of that run must not end the job.
    leaveGroupOfRun()
    const toolNames = (options['toolNames'] ?? []) as string[]
    return useExecutor((executor, signal) => supervise(path, executor, signal), { toolNames })
  },
}

/** A caller asks at once, or never. */
const neverAskedMs = 15_000

async function supervise(path: string, executor: Executor, ending: AbortSignal): Promise<number> {
  const held = new Set<HeldRun>()
  let isAsked = false
  /** The runs of which their caller reads no more. */
  const closed = new Set<string>()
  const socket = connect(path)
  const connection = connectSocket(socket)
  const left = new AbortController()

  function hold(run: Promise<Run | null>, isAnswered: boolean): HeldRun {
    isAsked = true
    const one = { run, isAnswered }
    held.add(one)
    // What was misuse the caller is told.
    const forget = () => held.delete(one)
    run.then((started) => started?.ended).then(forget, forget)
    return one
  }

  type Methods = `supervise${'' | '.close' | '.detach' | '.take_up'}` | '$/cancel'
  const methods = bindMethods<WireCall, Methods>({
    async supervise({ id, request, supportsApproval, cwd, workspace, atMost }, call) {
      const signal = AbortSignal.any([ending, call.signal])
      const run = executor.start(request, {
        id,
        cwd,
        workspace,
        atMost,
        signal,
        approve: supportsApproval
          ? (asked, verdict) => rpc.ask(asked, verdict, AbortSignal.any([signal, left.signal]))
          : undefined,
        // The answer `closed` of a caller that has gone is dropped, since the run goes on without it.
        async onEvent(event) {
          await call.notify('run.event', encodeEvent(event))
          return closed.has(id) ? 'closed' : undefined
        },
      })
      const one = hold(run, false)
      const result = await (await run).result
      one.isAnswered = true
      return result
    },
    'supervise.close'({ id }) {
      closed.add(id)
      return {}
    },
    'supervise.detach'({ id }) {
      executor.jobs.find(id).detach()
      return {}
    },
    async 'supervise.take_up'({ id }) {
      const run = executor.takeUp(id)
      hold(run, true)
      await run
      return {}
    },
    '$/cancel': cancelHandler,
  })
  const rpc = createRpcServer({ connection, methods, prepare: (call) => call })
  // Deno does not always hear that a caller was killed before it asked.
  const silence = setTimeout(() => {
    if (!isAsked) socket.destroy()
  }, neverAskedMs)
  const silent = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await Promise.race([receiveMessages(socket, connection, rpc), silent])
  clearTimeout(silence)
  left.abort()
  await Promise.all([...held].map(holdToEnd))
  return 0
}

interface HeldRun {
  run: Promise<Run | null>
  /** Its caller has its answer. */
  isAnswered: boolean
}

/** The caller is gone: what may outlive it goes on as a job, for a day at most. */
async function holdToEnd({ run: begun, isAnswered }: HeldRun): Promise<void> {
  const run = await begun.catch(() => null)
  if (run === null) return
  if (!isAnswered && !mayOutlive(run.request)) void run.stop(shutdown)
  else if (!isAnswered) run.detach()
  const timer = setTimeout(() => void run.stop('timeout'), limits.supervisedSeconds * 1000)
  await run.ended
  clearTimeout(timer)
}

/** What the watchdog of a nacre becomes when that nacre was killed. */
export const reapCommand: Command = {
  name: 'reap',
  usage: 'nacre reap <pid>:<start time>',
  description:
    'End the runs of a nacre that was killed, but for its jobs (nacre starts this by itself)',
  flags: [],
  examples: ['nacre reap 4711:8223372'],
  hidden: true,
  async run({ positionals: [owner], stateDir }) {
    if (owner === undefined) throw wrongUsage('Name the nacre that was killed')
    return (await reap(owner, stateDir)).length === 0 ? 0 : 1
  },
}
