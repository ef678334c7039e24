import { codeOf, messageOf } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'
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

/** Whether it tells that there were too few. */
export function isScarcity(error: unknown): boolean {
  return (
    error instanceof StartError &&
    Object.values(scarcities).some(({ code }) => code === error.failure.code)
  )
}

/** Whether only this nacre can give back what there was too little of. */
export function isOwnScarcity(error: unknown): boolean {
  return error instanceof StartError && error.failure.code === scarcities.EMFILE.code
}

export function describeScarcity(code: Scarcity): StartError {
  return new StartError(scarcities[code].code, scarcities[code].message)
}
