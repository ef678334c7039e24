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
  if (code === 'EMFILE' || code === 'ENFILE') return tooManyFiles()
  const message = `Cannot start ${launch.file}: ${messageOf(error)}`
  return new StartError({ code: 'spawn_failed', message, exitCode: code === 'EACCES' ? 126 : 125 })
}

/** The same for what it refused before there was anything to start; other errors stay as they are. */
export function describeRefusal(error: unknown): unknown {
  const code = codeOf(error)
  if (error instanceof StartError || code === null || code.startsWith('ERR_')) return error
  if (code === 'EMFILE' || code === 'ENFILE') return tooManyFiles()
  const message = `Cannot start: ${messageOf(error)}`
  return new StartError({ code: 'start_failed', message, exitCode: 125 })
}

function tooManyFiles(): StartError {
  const message = 'No more files can be opened: raise the limit (`ulimit -n`) or end other runs'
  return new StartError({ code: 'too_many_files', message, exitCode: 125 })
}
