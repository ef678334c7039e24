import { shutdown, StartError } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { StopReason } from '../protocol/result/result.ts'

/**
 * Bounds a start that may take long, such as that of a shell with start files: by the time of its run, which the
 * command then has for itself once more, and by `signals`. `start` ends what it has begun when its signal aborts,
 * and rejects; then this rejects with a `StartError` that tells the reason and the `state`.
 */
export async function startWithin<Value>(
  { timeoutMs }: Pick<Request, 'timeoutMs'>,
  state: keyof typeof states,
  signals: readonly (AbortSignal | undefined)[],
  start: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const time = new AbortController()
  const given = signals.filter((signal) => signal !== undefined)
  const limit = AbortSignal.any([time.signal, ...given])
  const timer = timeoutMs === null ? undefined : setTimeout(() => time.abort(), timeoutMs)
  try {
    return await start(limit)
  } catch (error) {
    if (!limit.aborted) throw error
    const reason = time.signal.aborted ? 'timeout' : limit.reason === shutdown ? shutdown : 'cancel'
    throw stoppedBefore(state, reason)
  } finally {
    clearTimeout(timer)
  }
}

/** The failure of a command that was stopped before it had begun; `state` is what held it up. */
export function stoppedBefore(state: keyof typeof states, reason: StopReason): StartError {
  const message = `The command never started: ${states[state]} ${stops[reason]}`
  return new StartError('never_started', message, reason)
}

/** `ending`: where it has aborted, the session was closed with nacre. */
export function sessionClosed(name: string, ending: AbortSignal | undefined): StartError {
  const reason = ending?.aborted ? shutdown : null
  return new StartError('session_closed', `Session ${name} has been closed`, reason)
}

const states = {
  busy: 'its session was busy with another one',
  starting: 'its shell was still starting',
  untaken: 'its shell had not taken it',
  connecting: 'its host had not answered',
}

const stops: Readonly<Record<StopReason, string>> = {
  timeout: 'when its time was over',
  inactivity: 'when it had been silent for as long as it may be',
  cancel: 'when it was cancelled',
  kill: 'when it was stopped',
  shutdown: 'when nacre ended',
  output_limit: 'when it had written too much',
  out_of_memory: 'when its memory was used up',
  preempted: 'when another one came before it',
}
