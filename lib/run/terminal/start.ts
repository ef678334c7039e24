import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { messageOf } from '../../protocol/errors.ts'
import { type Exit, StartError } from '../../protocol/ports.ts'
import type { TerminalSize } from '../../protocol/request/request.ts'
import type { ControlGroup, ControlGroups } from '../../system/process/control-group.ts'
import { startProcess, type Uninherited } from '../../system/process/spawn.ts'
import { findProgram, systemPath } from '../../system/look.ts'
import { isDeno } from '../../system/runtime.ts'
import { chooseFirstWord, type Launch } from '../launch.ts'
import { describeStartFailure } from '../start-failure.ts'
import type { TerminalCalls } from './terminal-calls.ts'

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
  /** Its end does not keep nacre alive any more. */
  unref(): void
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

/** Opens a terminal and starts a program on it. Rejects with `StartError`. */
export async function startPty(start: PtyStart, parts: PtyParts): Promise<PtyProcess> {
  try {
    // What starts the program reports a failure as text on the terminal.
    accessSync(start.launch.file, constants.X_OK)
    return await startOnTerminal(start, parts)
  } catch (error) {
    throw describeStartFailure(error, start.launch)
  }
}

const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants

/** The number of TIOCSCTTY on macOS (`sys/ttycom.h`). */
const takeTerminal = 0x20007461

/**
 * Makes a program the leader of a session of its own, with its standard input as the controlling terminal:
 * `setsid --ctty` (util-linux or busybox); on macOS, which has none, the system's perl.
 */
const leaders: Partial<Record<NodeJS.Platform, { name: string; words: string[] }>> = {
  linux: { name: 'setsid', words: ['-c'] },
  darwin: {
    name: 'perl',
    words: [
      '-MPOSIX',
      '-e',
      `POSIX::setsid(); ioctl(STDIN, ${takeTerminal}, 0); exec { $ARGV[0] } @ARGV; die "$!\\n"`,
    ],
  },
}

function findLeader(): { file: string; words: string[] } {
  const { name, words } = leaders[process.platform] ?? { name: 'setsid', words: ['-c'] }
  const file = findProgram(name, systemPath)
  if (file !== null) return { file, words }
  const message = `A terminal needs ${name}(1): install ${name === 'setsid' ? 'util-linux, or busybox' : name}`
  throw new StartError('pty_unavailable', message)
}

/** Rejects with the system's error or `StartError`. */
async function startOnTerminal(
  { launch, size }: PtyStart,
  { calls, uninherited, groups }: PtyParts,
): Promise<PtyProcess> {
  const { file, words } = findLeader()
  const { master, slave: inheritable, pty: path } = openTerminal(calls, size)
  // What Deno opens is close-on-exec, and Deno gives a child none but its standard streams.
  if (!isDeno) uninherited.add(master)
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
      closeSync(inheritable)
    }
  }
  try {
    const [slave, childFd] = openBoth()
    const child = await startProcess({
      file,
      args: [...words, chooseFirstWord(launch), ...launch.args],
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
    closeSync(master)
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
