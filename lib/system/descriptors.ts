import { fstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import type * as tty from 'node:tty'
import { lookAtLink } from './look.ts'
import { isDeno } from './runtime.ts'

/** What a descriptor of this process leads to; null where it is closed. */
export function statDescriptor(fd: number): Stats | null {
  try {
    return fstatSync(fd)
  } catch {
    return null
  }
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
  return follow(fd)?.leadsTo.startsWith('pipe:') ?? false
}

/** Loaded with the first terminal. */
export function loadTty(): typeof tty {
  return process.getBuiltinModule('node:tty')
}

/** A shell uses no higher numbers either. */
const highestGiven = 255
/** Descriptors that a runtime has opened and closed again on its way here. */
const mostClosed = 8

/**
 * The descriptors above 2 that nacre was started with and that a process which it starts does not get by
 * itself. To be asked before nacre opens files of its own. Linux only: elsewhere nothing tells what a
 * descriptor leads to. Deno gives them on by itself.
 */
export function listGiven(): number[] {
  if (process.platform !== 'linux' || isDeno) return []
  const numbers = readdirSync('/proc/self/fd').map(Number)
  const open = numbers
    .filter((fd) => fd > 2 && fd <= highestGiven)
    .sort((a, b) => a - b)
    .flatMap((fd) => follow(fd) ?? [])
  const isOfLoop = ({ leadsTo }: OpenDescriptor) => ofEventLoop.test(leadsTo)
  // A runtime makes its pipes after the event loop that reads them, has both ends of each, and gets the
  // lowest numbers that are free.
  const loopFd = open.find(isOfLoop)?.fd ?? highestGiven
  const highestOwn = numbers.length + mostClosed
  const pipes = open.filter(
    ({ fd, leadsTo }) => fd > loopFd && fd <= highestOwn && leadsTo.startsWith('pipe:'),
  )
  const isOwnPipe = (one: OpenDescriptor) =>
    pipes.includes(one) && pipes.filter(({ leadsTo }) => leadsTo === one.leadsTo).length === 2
  return open.flatMap((one) => (isOfLoop(one) || isOwnPipe(one) ? [] : one.fd))
}

const ofEventLoop = /^anon_inode:\[(?:eventpoll|eventfd|io_uring|timerfd)\]$/

interface OpenDescriptor {
  fd: number
  leadsTo: string
}

/** Null: it was the descriptor of the listing itself. */
function follow(fd: number): OpenDescriptor | null {
  const leadsTo = lookAtLink(`/proc/self/fd/${fd}`)
  return leadsTo === null ? null : { fd, leadsTo }
}
