import { spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { constants as systemConstants } from 'node:os'
import { messageOf } from '../protocol/errors.ts'
import { type Exit, StartError } from '../protocol/ports.ts'
import type { Stdin, TerminalSize } from '../protocol/request.ts'
import type { DescriptorCalls } from './descriptor-calls.ts'
import type { Launch } from './launch.ts'
import type { LoadedAddon } from './pty-addon.ts'
import { findProgram } from './shell.ts'
import { openStandardInput } from './standard-input.ts'
import { describeStartFailure } from './start-failure.ts'
import type { Uninherited } from './uninherited.ts'

/** A program on a terminal of its own, of which it is the controlling one. */
export interface PtyProcess {
  pid: number
  /** Non-blocking, owned by the caller. */
  master: number
  /** Non-blocking and close-on-exec, owned by the caller. */
  slave: number
  /** The terminal's name: `/dev/pts/0`. */
  path: string
  /** The end of the program itself, exactly as the system tells it. Never rejects. */
  ended: Promise<Exit>
}

export interface PtyParts {
  addon: LoadedAddon
  calls: DescriptorCalls
  uninherited: Uninherited
}

/** Where `setsid` is looked for: nowhere that a request's environment could change. */
const systemPath = '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin'
const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants

/**
 * Opens a terminal and starts the launch on it. Rejects with `StartError`; errors of the start are
 * never written to the terminal. On Linux the program is started by `setsid --ctty` (util-linux or
 * busybox), so that it inherits no other terminal; elsewhere by the addon's own fork.
 */
export async function startPty(
  launch: Launch,
  size: TerminalSize,
  stdin: Stdin,
  parts: PtyParts,
): Promise<PtyProcess> {
  const setsid = process.platform === 'linux' ? findProgram('setsid', systemPath) : null
  if (setsid) return startWithSetsid(setsid, launch, size, stdin, parts)
  if (stdin.kind === 'text' || stdin.kind === 'descriptor') {
    const message = 'A terminal run with a given standard input needs the program setsid'
    throw new StartError({ code: 'setsid_missing', message, exitCode: 125 })
  }
  return startWithFork(launch, size, parts)
}

async function startWithSetsid(
  setsid: string,
  launch: Launch,
  size: TerminalSize,
  stdin: Stdin,
  { addon, calls, uninherited }: PtyParts,
): Promise<PtyProcess> {
  const terminal = openTerminal(addon, size)
  // Opened anew, close-on-exec.
  calls.close(terminal.slave)
  const slave = openSync(terminal.pty, O_RDWR | O_NOCTTY | O_NONBLOCK)
  uninherited.add(terminal.master)
  const input = openStandardInput(stdin)
  const childFd = openSync(terminal.pty, O_RDWR | O_NOCTTY)
  try {
    const given = typeof input.stdin === 'number'
    const stdio = given ? [childFd, childFd, childFd, input.stdin] : [childFd, childFd, childFd]
    // `--ctty` takes the terminal from descriptor 0; a given input replaces it afterwards.
    const words = given ? ['/bin/sh', '-c', 'exec "$0" "$@" <&3 3<&-'] : []
    const child = spawn(setsid, ['-c', ...words, launch.file, ...launch.args], {
      cwd: launch.cwd,
      env: launch.env,
      stdio: uninherited.cover(stdio),
    })
    if (child.pid === undefined) await new Promise((_, reject) => child.once('error', reject))
    const ended = new Promise<Exit>((settle) => {
      child.once('exit', (code, signal) => settle({ code, signal }))
    })
    const { master, pty: path } = terminal
    return { pid: child.pid as number, master, slave, path, ended }
  } catch (error) {
    uninherited.delete(terminal.master)
    calls.close(terminal.master)
    closeSync(slave)
    throw describeStartFailure(error, launch)
  } finally {
    closeSync(childFd)
    input.release()
  }
}

function startWithFork(
  launch: Launch,
  size: TerminalSize,
  { addon: { addon, helperPath }, uninherited }: PtyParts,
): PtyProcess {
  const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`)
  let settle: (exit: Exit) => void
  const ended = new Promise<Exit>((resolve) => {
    settle = resolve
  })
  const onExit = (code: number, signal: number) =>
    settle(signal ? { code: null, signal: nameSignal(signal) } : { code, signal: null })
  const { columns, rows } = size
  const { file, args, cwd } = launch
  try {
    const child = addon.fork(file, args, env, cwd, columns, rows, -1, -1, true, helperPath, onExit)
    uninherited.add(child.fd)
    const slave = openSync(child.pty, O_RDWR | O_NOCTTY | O_NONBLOCK)
    return { pid: child.pid, master: child.fd, slave, path: child.pty, ended }
  } catch (error) {
    throw describeStartFailure(error, launch)
  }
}

function openTerminal({ addon }: LoadedAddon, { columns, rows }: TerminalSize) {
  try {
    return addon.open(columns, rows)
  } catch (error) {
    const message = `Cannot open a terminal (are too many in use?): ${messageOf(error)}`
    throw new StartError({ code: 'pty_failed', message, exitCode: 125 })
  }
}

function nameSignal(signal: number): string {
  const names = Object.entries(systemConstants.signals)
  return names.find(([, number]) => number === signal)?.[0] ?? `SIG${signal}`
}
