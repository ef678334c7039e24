import { createDeferred } from '../../protocol/deferred.ts'
import { messageOf, OutputLimitError } from '../../protocol/errors.ts'
import type { OutputSink, Runner } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { Result } from '../../protocol/result/result.ts'
import { both, type Call } from './call.ts'
import { createRun, type LiveRun, type RunParts } from './run.ts'

export interface RunStart extends Pick<RunParts, 'capture' | 'times' | 'onLeave'> {
  request: Request
  call: Call
  runner: Runner
  /** Makes the run one that can be found; its start is told after that. */
  onStart(run: LiveRun): Promise<void>
}

/**
 * Starts the process of a run, with its output on the way to the capture and to whoever listens. What the
 * runner rejects with is thrown, and the capture is finished then.
 */
export async function startRun(start: RunStart): Promise<LiveRun> {
  const { request, call, runner, capture, times, onLeave } = start
  const { hear, opened } = call
  const { id, command } = request
  let run: LiveRun | null = null
  // The run can be found, and its start has been told.
  const { promise: started, resolve: tellStart } = createDeferred()
  const told = opened ? started.then(() => opened) : started
  let isTold = false
  const sink: OutputSink = {
    write(stream, bytes) {
      run?.touch()
      if (!isTold) return told.then(() => this.write(stream, bytes))
      return both(capture.write(stream, bytes), hear({ type: 'output', id, stream, bytes }))
    },
    tellTask: (end, counts) => told.then(() => hear({ type: 'task', id, ...end, ...counts })),
  }
  try {
    const running = await runner(request, sink)
    const { signal } = call.options
    const settle = (result: Result) => started.then(() => call.settle(result))
    const settled = { ...call, settle }
    run = createRun({ request, running, capture, times, signal, call: settled, onLeave })
    await start.onStart(run)
    call.onFailure((error) => {
      const isLimit = error instanceof OutputLimitError
      run?.notice(isLimit ? error.message : `Its listener failed: ${messageOf(error)}`)
      void run?.stop(isLimit ? 'output_limit' : 'cancel')
    })
    await hear({ type: 'started', id, pid: running.pid, command })
    void told.then(() => (isTold = true))
    tellStart()
    return run
  } catch (error) {
    // Its end is told to nobody else, and must not wait for ever.
    tellStart()
    await capture.finish()
    throw error
  }
}
