import { fstatSync, type Stats, statSync } from 'node:fs'
import type * as tty from 'node:tty'
import { ifSeen, lookAtLink } from './look.ts'

/** What a descriptor of this process leads to; null where it is closed. */
export function statDescriptor(fd: number): Stats | null {
  return ifSeen(() => fstatSync(fd))
}

/**
 * Whether a descriptor is a terminal. A terminal is a character device; what is none, and the null
 * device, is answered without `node:tty`, which costs every runtime 3 ms to load.
 */
export function isTerminal(fd: number): boolean {
  const stat = statDescriptor(fd)
  if (!stat?.isCharacterDevice() || isNullDevice(stat)) return false
  return loadTty().isatty(fd)
}

/** Whether it is `/dev/null`, which Node also puts where a standard stream was closed. */
export function isNullDevice({ rdev }: Stats): boolean {
  return rdev === statSync('/dev/null').rdev
}

/** Whether it is a pipe that is in no folder: its link reads `pipe:[…]` (proc(5)). Linux only: elsewhere false. */
export function isUnnamedPipe(fd: number): boolean {
  return lookAtLink(`/proc/self/fd/${fd}`)?.startsWith('pipe:') ?? false
}

/** Loaded with the first terminal. */
export function loadTty(): typeof tty {
  return process.getBuiltinModule('node:tty')
}
