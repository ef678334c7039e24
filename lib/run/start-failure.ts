import { codeOf, messageOf } from '../protocol/errors.ts'
import { StartError } from '../protocol/ports.ts'
import type { Launch } from './launch.ts'

/** What the system answered to the start of a process, for the reader. */
export function describeStartFailure(error: unknown, launch: Launch): StartError {
  const code = codeOf(error)
  if (code === 'E2BIG') {
    const message = 'The command or its environment is too long for the system to start'
    return new StartError({ code: 'too_long', message, exitCode: 126 })
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    const message = 'No more files can be opened: raise the limit (`ulimit -n`) or end other runs'
    return new StartError({ code: 'too_many_files', message, exitCode: 125 })
  }
  const message = `Cannot start ${launch.file}: ${messageOf(error)}`
  return new StartError({ code: 'spawn_failed', message, exitCode: code === 'EACCES' ? 126 : 125 })
}
