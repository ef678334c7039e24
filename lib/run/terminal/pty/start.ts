import { accessSync, closeSync, constants, openSync, readSync } from 'node:fs'
import { StartError } from '../../../protocol/ports.ts'
import { startWithFork } from './fork.ts'
import type { PtyParts, PtyProcess, PtyStart } from './process.ts'
import { startWithSetsid } from './setsid.ts'
import { findProgram, systemPath } from '../../../system/programs.ts'
import { describeStartFailure } from '../../start-failure.ts'

/** Opens a terminal and starts a program on it. Rejects with `StartError`. */
export async function startPty(start: PtyStart, parts: PtyParts): Promise<PtyProcess> {
  const setsid = process.platform === 'linux' ? findProgram('setsid', systemPath) : null
  try {
    checkProgram(start.launch.file)
    return setsid ? await startWithSetsid(setsid, start, parts) : startWithFork(start, parts)
  } catch (error) {
    throw error instanceof StartError ? error : describeStartFailure(error, start.launch)
  }
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
