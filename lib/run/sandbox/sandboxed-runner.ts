import { constants } from 'node:os'
import type { Exit, OutputSink, Runner, Running, StartFailure } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request.ts'
import { watchRefusedWrites } from './refused-write.ts'
import type { Sandbox } from './sandbox.ts'
import { readStatus, removeStatus } from './sandbox-status.ts'

/**
 * Runs a request with a runner whose launches the sandbox confines, and adds to what is known of the
 * run what only the sandbox can tell. Rejects with `StartError`.
 */
export async function runInSandbox(
  sandbox: Sandbox,
  runner: Runner,
  request: Request,
  sink: OutputSink,
): Promise<Running> {
  const { use, notices } = await sandbox.decide(request)
  const told = (exit: Exit, more: string[] = []): Exit => ({
    ...exit,
    notices: [...notices, ...(exit.notices ?? []), ...more],
  })
  if (use.degraded) {
    const running = await runner(request, sink)
    return { ...running, sandbox: use, exited: running.exited.then((exit) => told(exit)) }
  }
  const statusFile = sandbox.statusFile(request.id)
  const watch = watchRefusedWrites(request, () => sandbox.findPlaces(request))
  let stopping = false
  try {
    const running = await runner(request, {
      write(stream, bytes) {
        watch.look(bytes)
        return sink.write(stream, bytes)
      },
    })
    return {
      ...running,
      sandbox: use,
      exited: running.exited.then((exit) => {
        const failure = stopping || request.session !== null ? null : findFailure(exit, statusFile)
        removeStatus(statusFile)
        if (failure) return { ...told(exit), notStarted: failure(watch.lastWords()) }
        return told(stopping ? restoreSignal(exit) : exit, watch.describe())
      }),
      stop(reason) {
        stopping = true
        return running.stop(reason)
      },
    }
  } catch (error) {
    removeStatus(statusFile)
    throw error
  }
}

/** Whether bwrap ended before the command could begin. */
function findFailure({ code }: Exit, statusFile: string): ((said: string) => StartFailure) | null {
  if (code === null || code === 0 || readStatus(statusFile).exitCode !== null) return null
  return (said) => ({
    code: 'sandbox_failed',
    message: `The sandbox could not be set up: ${said || `bwrap ended with status ${code}`}`,
    exitCode: 125,
  })
}

/**
 * bwrap tells an end by a signal as 128 + its number. Of a run that was stopped it is certain what
 * that means; of another it may be the command's own exit code.
 */
function restoreSignal(exit: Exit): Exit {
  const ending = ['SIGTERM', 'SIGKILL'] as const
  const signal = ending.find((name) => exit.code === 128 + constants.signals[name])
  return signal ? { ...exit, code: null, signal } : exit
}
