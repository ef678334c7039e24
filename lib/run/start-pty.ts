import { accessSync, closeSync, constants, openSync, readSync } from 'node:fs'
import { StartError } from '../protocol/ports.ts'
import type { Stdin } from '../protocol/request.ts'
import { startWithFork } from './pty-fork.ts'
import type { PtyParts, PtyProcess, PtyStart } from './pty-process.ts'
import { startWithSetsid } from './pty-setsid.ts'
import { findProgram } from './shell.ts'
import { openStandardInput } from './standard-input.ts'
import { describeStartFailure } from './start-failure.ts'

/** Where `setsid` is looked for: nowhere that a request's environment could change. */
const systemPath = '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin'

/** Opens a terminal and starts a program on it. Rejects with `StartError`. */
export async function startPty(
  start: PtyStart,
  stdin: Stdin,
  parts: PtyParts,
): Promise<PtyProcess> {
  const setsid = process.platform === 'linux' ? findProgram('setsid', systemPath) : null
  const input = openStandardInput(stdin)
  try {
    checkProgram(start.launch.file)
    if (setsid) return await startWithSetsid(setsid, start, input, parts)
    if (input.stdin === 'ignore') return startWithFork(start, parts)
  } catch (error) {
    if (error instanceof StartError) throw error
    throw describeStartFailure(error, start.launch)
  } finally {
    input.release()
  }
  const message = 'A terminal run that is given a standard input needs the program setsid'
  throw new StartError({ code: 'setsid_missing', message, exitCode: 125 })
}

/** What starts the program tells a failure as text on the terminal; so what can be is checked before. */
function checkProgram(file: string): void {
  accessSync(file, constants.X_OK)
  const fd = openSync(file, 'r')
  try {
    const head = Buffer.alloc(256)
    const text = head.toString('latin1', 0, readSync(fd, head))
    const interpreter = /^#!\s*(\S+)/.exec(text)?.[1]
    if (interpreter) accessSync(interpreter, constants.X_OK)
  } finally {
    closeSync(fd)
  }
}
