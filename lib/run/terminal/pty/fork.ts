import { constants, openSync } from 'node:fs'
import { createDeferred } from '../../../protocol/deferred.ts'
import type { Exit } from '../../../protocol/ports.ts'
import { nameSignal } from '../../../system/process/process-table.ts'
import { chooseFirstWord } from '../../launch.ts'
import type { PtyParts, PtyProcess, PtyStart } from './process.ts'

const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants

/**
 * Starts a program through the addon's own forkpty(3), where there is no `setsid --ctty`: on macOS,
 * where the addon closes what it must not inherit. Throws the addon's or the system's error.
 */
export function startWithFork(
  { launch, size }: PtyStart,
  { addon: { addon, helperPath }, calls, uninherited }: PtyParts,
): PtyProcess {
  const { args, cwd } = launch
  const file = chooseFirstWord(launch)
  const { columns, rows } = size
  const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`)
  const { promise: ended, resolve: settle } = createDeferred<Exit>()
  const onExit = (code: number, signal: number) =>
    settle(
      signal
        ? { code: null, signal: nameSignal(signal) ?? `SIG${signal}` }
        : { code, signal: null },
    )
  const child = addon.fork(file, args, env, cwd, columns, rows, -1, -1, true, helperPath, onExit)
  const { fd: master, pid, pty: path } = child
  try {
    const slave = openSync(path, O_RDWR | O_NOCTTY | O_NONBLOCK)
    uninherited.add(master)
    return { pid, master, slave, path, group: null, ended }
  } catch (error) {
    // Hangs the program up.
    calls.close(master)
    throw error
  }
}
