import { codeOf, messageOf } from '../protocol/errors.ts'
import { shutdown, StartError } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { StopReason } from '../protocol/result/result.ts'
import { statDescriptor } from '../system/descriptors.ts'
import type { Launch } from './launch.ts'

/**
 * What the system answered to the start of a process, for the reader. `given`: the descriptors that the
 * process was to have.
 */
export function describeStartFailure(
  error: unknown,
  { file }: Pick<Launch, 'file'>,
  given: readonly number[] = [],
): StartError {
  if (error instanceof StartError) return error
  const code = codeOf(error)
  if (code === 'E2BIG') {
    const message = 'The command or its environment is too long for the system to start'
    return new StartError('too_long', message)
  }
  if (isScarce(code)) return describeScarcity(code)
  const closed = given.find((fd) => statDescriptor(fd) === null)
  if (closed !== undefined) {
    return new StartError('descriptor_closed', `Descriptor ${closed} is not open`)
  }
  const missing = code !== null && Object.hasOwn(missings, code) ? missings[code] : undefined
  if (missing !== undefined)
    return new StartError(missing, `Cannot start ${file}: ${messageOf(error)}`)
  // A copy of a descriptor would have a number above the limit (fcntl(2), F_DUPFD; dup2(2)).
  if (code === 'EINVAL' || code === 'EBADF') return describeScarcity('EMFILE')
  return new StartError('spawn_failed', `Cannot start ${file}: ${messageOf(error)}`)
}

/** The program is there: what is meant is the interpreter that its first line names, or the file system's rights. */
const missings: Readonly<Record<string, string>> = {
  ENOENT: 'program_not_found',
  EACCES: 'program_not_executable',
  ENOEXEC: 'program_not_executable',
}

/** The same for what it refused before there was anything to start; other errors stay as they are. */
export function describeRefusal(error: unknown): unknown {
  const code = codeOf(error)
  if (error instanceof StartError || code === null || code.startsWith('ERR_')) return error
  if (isScarce(code)) return describeScarcity(code)
  return new StartError('start_failed', `Cannot start: ${messageOf(error)}`)
}

/** Whether the system had no more of what the end of other runs would give back. */
export function isScarce(code: string | null): code is Scarcity {
  return code !== null && Object.hasOwn(scarcities, code)
}

type Scarcity = keyof typeof scarcities

const scarcities = {
  EMFILE: {
    code: 'too_many_files',
    message: 'No more files can be opened: raise the limit (`ulimit -n`) or end other runs',
  },
  ENFILE: {
    code: 'too_many_files_in_system',
    message: 'No more files can be opened on this machine: end other programs',
  },
  EAGAIN: {
    code: 'too_many_processes',
    message: 'No more processes can be started: raise the limit (`ulimit -u`) or end other runs',
  },
}

export function describeScarcity(code: Scarcity): StartError {
  return new StartError(scarcities[code].code, scarcities[code].message)
}

/** The reason of an abort since the time is over, also for a start within a start. */
const late = Symbol('late')

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
  const timer = timeoutMs === null ? undefined : setTimeout(() => time.abort(late), timeoutMs)
  try {
    return await start(limit)
  } catch (error) {
    // What it waited for itself may have a reason of its own.
    if (!limit.aborted || (error instanceof StartError && error.reason !== null)) throw error
    const reason =
      limit.reason === late ? 'timeout' : limit.reason === shutdown ? shutdown : 'cancel'
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
