import { accessSync, closeSync, constants, openSync, readSync } from 'node:fs'
import { createDeferred } from '../../protocol/deferred.ts'
import { messageOf } from '../../protocol/errors.ts'
import { type Exit, StartError } from '../../protocol/ports.ts'
import type { TerminalSize } from '../../protocol/request/request.ts'
import type { ControlGroup, ControlGroups } from '../../system/process/control-group.ts'
import { nameSignal } from '../../system/process/process-table.ts'
import { startProcess, type Uninherited } from '../../system/process/spawn.ts'
import { findProgram, systemPath } from '../../system/look.ts'
import { chooseFirstWord, type Launch } from '../launch.ts'
import { describeStartFailure } from '../start-failure.ts'
import { loadTerminalCalls, type TerminalCalls } from './terminal-calls.ts'

/** A program on a terminal of its own, which is the controlling one of its session. */
export interface PtyProcess {
  pid: number
  /** Non-blocking; the receiver owns it, and takes it out of `uninherited` when it is closed. */
  master: number
  /** Non-blocking and close-on-exec; the receiver owns it. */
  slave: number
  /** The terminal's name: `/dev/pts/0`. */
  path: string
  /** Holds the program and all that it starts; null where the kernel gives none. */
  group: ControlGroup | null
  /** The end of the program itself, exactly as the system tells it. Never rejects. */
  ended: Promise<Exit>
  /** Its end does not keep nacre alive any more; a thread of the addon always does. */
  unref?: () => void
}

/** With what programs are started on terminals. */
export interface PtyParts {
  calls: TerminalCalls
  uninherited: Uninherited
  groups?: ControlGroups | undefined
}

export interface PtyStart {
  launch: Launch
  size: TerminalSize
}

/** With what programs are started on terminals, or why that is impossible. */
export function loadPtyParts(
  shared: Omit<PtyParts, 'calls'>,
  loadCalls: () => TerminalCalls = loadTerminalCalls,
): PtyParts | { missing: string } {
  try {
    return { calls: loadCalls(), ...shared }
  } catch (error) {
    return { missing: messageOf(error) }
  }
}

/** Opens a terminal and starts a program on it. Rejects with `StartError`. */
export async function startPty(start: PtyStart, parts: PtyParts): Promise<PtyProcess> {
  const setsid = process.platform === 'linux' ? findProgram('setsid', systemPath) : null
  try {
    checkProgram(start.launch.file)
    return setsid ? await startWithSetsid(setsid, start, parts) : startWithFork(start, parts)
  } catch (error) {
    throw describeStartFailure(error, start.launch)
  }
}

/** What starts the program reports a failure as text on the terminal, so it is checked before if it can be. */
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

const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants

/**
 * Starts a program through `setsid --ctty` (util-linux or busybox), so that the start fails as any
 * spawn does and no other terminal is inherited. Rejects with the system's error or `StartError`.
 */
async function startWithSetsid(
  setsid: string,
  { launch, size }: PtyStart,
  { calls, uninherited, groups }: PtyParts,
): Promise<PtyProcess> {
  const { master, slave: inheritable, pty: path } = openTerminal(calls, size)
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

function openTerminal(calls: TerminalCalls, { columns, rows }: TerminalSize) {
  try {
    return calls.open(columns, rows)
  } catch (error) {
    const message = `Cannot open a terminal (are too many in use?): ${messageOf(error)}`
    throw new StartError('pty_failed', message)
  }
}

/**
 * Starts a program through the addon's own forkpty(3), where there is no `setsid --ctty`: on macOS,
 * where the addon closes what it must not inherit. Throws the addon's or the system's error.
 */
export function startWithFork(
  { launch, size }: PtyStart,
  { calls, uninherited }: PtyParts,
): PtyProcess {
  if (calls.fork === null) {
    const message = 'A terminal needs setsid(1): install util-linux, or busybox'
    throw new StartError('pty_unavailable', message)
  }
  const { promise: ended, resolve: settle } = createDeferred<Exit>()
  const child = calls.fork(launch, chooseFirstWord(launch), size, (code, signal) =>
    settle(
      signal
        ? { code: null, signal: nameSignal(signal) ?? `SIG${signal}` }
        : { code, signal: null },
    ),
  )
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
