import { closeSync, constants, openSync } from 'node:fs'
import { messageOf } from '../../../protocol/errors.ts'
import { type Exit, StartError } from '../../../protocol/ports.ts'
import type { TerminalSize } from '../../../protocol/request/request.ts'
import { startProcess } from '../../../system/process/spawn.ts'
import type { PtyAddon } from './addon.ts'
import { chooseFirstWord } from '../../launch.ts'
import type { PtyParts, PtyProcess, PtyStart } from './process.ts'

const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants

/**
 * Starts a program through `setsid --ctty` (util-linux or busybox), so that the start fails as any
 * spawn does and no other terminal is inherited. Rejects with the system's error or `StartError`.
 */
export async function startWithSetsid(
  setsid: string,
  { launch, size }: PtyStart,
  { addon, calls, uninherited, groups }: PtyParts,
): Promise<PtyProcess> {
  const { master, slave: inheritable, pty: path } = openTerminal(addon.addon, size)
  if (!calls.setCloseOnExec(master)) uninherited.add(master)
  const opened: number[] = []
  const open = (flags: number) => {
    const fd = openSync(path, O_RDWR | O_NOCTTY | flags)
    opened.push(fd)
    return fd
  }
  /** The child's own end is a blocking one, and it is to inherit no other. */
  const openBoth = () => {
    try {
      return [open(O_NONBLOCK), open(0)] as const
    } finally {
      calls.close(inheritable)
    }
  }
  try {
    const [slave, childFd] = openBoth()
    const child = await startProcess({
      file: setsid,
      args: ['-c', chooseFirstWord(launch), ...launch.args],
      cwd: launch.cwd,
      env: launch.env,
      stdio: [childFd, childFd, childFd],
      files: launch.files ?? [],
      uninherited,
      groups,
    })
    const { pid, group } = child
    const ended = new Promise<Exit>((settle) => {
      child.once('exit', (code, signal) => settle({ code, signal }))
    })
    closeSync(childFd)
    return { pid, master, slave, path, group, ended, unref: () => child.unref() }
  } catch (error) {
    for (const fd of opened) closeSync(fd)
    uninherited.delete(master)
    calls.close(master)
    throw error
  }
}

function openTerminal(addon: PtyAddon, { columns, rows }: TerminalSize) {
  try {
    return addon.open(columns, rows)
  } catch (error) {
    const message = `Cannot open a terminal (are too many in use?): ${messageOf(error)}`
    throw new StartError('pty_failed', message)
  }
}
