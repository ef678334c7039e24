import { failureStatus, signalStatus } from '../cli/exit-status.ts'
import type { Executor, ExecutorOptions } from '../executor/executor.ts'
import type { Streams } from '../doors/streams.ts'
import { messageOf } from '../protocol/errors.ts'
import { interruption, shutdown } from '../protocol/ports.ts'
import type { ControlGroups } from '../system/process/control-group.ts'
import { listIgnored } from '../system/process/own-process.ts'

/** After a fault of nacre's own its runs have so long to end, which is as long as the graces of a stop last. */
const crashGraceMs = 6000

/** Whatever ends nacre ends its runs; only KILL cannot be heard, and what the caller has it ignore. */
const endingSignals = [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const),
  ...(['SIGALRM', 'SIGUSR1', 'SIGUSR2', 'SIGXCPU'] as const),
]

/**
 * Gives the exit status of `use`, or that of the signal that ended nacre; the executor is closed
 * either way. After SIGINT the process itself ends by it. Where `keepStatus` was called, the status of
 * `use` stands: its command has answered the signal by itself. `onCrash` takes what is to be done first
 * after a fault of nacre's own. `groups`: those in which a start is expected already.
 */
export async function withExecutor(
  options: ExecutorOptions,
  streams: Streams,
  use: (
    executor: Executor,
    signal: AbortSignal,
    onCrash: (restore: () => void) => void,
    keepStatus: () => void,
  ) => Promise<number>,
  groups?: ControlGroups,
): Promise<number> {
  const { createExecutor } = await import('../executor/executor.ts')
  const executor = createExecutor(options, groups)
  const ending = new AbortController()
  let endedBy: NodeJS.Signals | null = null
  const end = (signal: NodeJS.Signals) => {
    endedBy ??= signal
    ending.abort(signal === interruption ? interruption : shutdown)
  }
  let keepsStatus = false
  let restore = () => {}
  const crash = (error: unknown) => {
    restore()
    process.exitCode = failureStatus
    void streams.stderr.write(`nacre: internal error: ${messageOf(error)}\n`)
    // The part that has failed may be the one that the runs wait for, so the wait is bounded.
    setTimeout(() => process.exit(failureStatus), crashGraceMs)
    void executor.close().then(() => process.exit(failureStatus))
  }
  const ignored = listIgnored()
  // Deno, once it listens for one signal, ends by others that it was to ignore.
  const listeners = endingSignals.map(
    (signal) => [signal, ignored.includes(signal) ? () => undefined : end] as const,
  )
  for (const [signal, listener] of listeners) process.on(signal, listener)
  process.on('uncaughtException', crash)
  try {
    const setRestore = (wanted: () => void) => {
      restore = wanted
    }
    const status = await use(executor, ending.signal, setRestore, () => {
      keepsStatus = true
    })
    return endedBy === null || keepsStatus ? status : signalStatus(endedBy)
  } finally {
    await executor.close({ interrupt: endedBy === interruption })
    process.off('uncaughtException', crash)
    for (const [signal, listener] of listeners) process.off(signal, listener)
    if (endedBy === 'SIGINT' && !keepsStatus) process.once('exit', endByInterrupt)
  }
}

/** So that a loop of a shell around nacre stops too (the shell asks how its child has ended). */
function endByInterrupt(): void {
  process.kill(process.pid, 'SIGINT')
}
