import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { codeOf } from '../../protocol/errors.ts'
import { ifThere, lookIntoFile } from '../../system/look.ts'

/** A thread that sleeps in the kernel until one of its files can be read. */
export interface BlockedReader {
  pid: number
  /** Changes whenever the thread has slept anew. */
  sleep: string
  /** What it waits for may not be looked at, since the process is another user's. */
  isHidden: boolean
}

/** How a system call says which descriptors it waits for. */
type WaitingCall = 'read' | 'poll' | 'select' | 'epoll'

/** System call numbers (asm/unistd_64.h, asm-generic/unistd.h). */
const waitingCalls: Record<string, Record<number, WaitingCall>> = {
  x64: {
    0: 'read', // read
    7: 'poll',
    17: 'read', // pread64
    19: 'read', // readv
    23: 'select',
    232: 'epoll', // epoll_wait
    270: 'select', // pselect6
    271: 'poll', // ppoll
    281: 'epoll', // epoll_pwait
    441: 'epoll', // epoll_pwait2
  },
  arm64: {
    22: 'epoll', // epoll_pwait
    63: 'read', // read
    65: 'read', // readv
    67: 'read', // pread64
    72: 'select', // pselect6
    73: 'poll', // ppoll
    441: 'epoll', // epoll_pwait2
  },
}

/** `POLLIN | POLLRDNORM`, of poll(2) and of epoll(7). */
const readable = 0x41
/** More descriptors than this are not looked at in one call. */
const descriptorsMax = 4096

/**
 * The thread of a process that waits to read a file whose name in `/proc/<pid>/fd` (proc(5)) is an
 * input, or the first one of a process that may not be looked into; null when none does. Linux only;
 * elsewhere null.
 */
export function findBlockedReader(
  pid: number,
  isInput: (link: string) => boolean,
): BlockedReader | null {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const call = readFileSync(`/proc/${pid}/task/${thread}/syscall`, 'latin1')
      const waits = listAwaited(pid, call).some((fd) => isInput(readLink(pid, fd)))
      if (waits) return describeSleep(pid, thread, false)
    }
    return null
  } catch (error) {
    const code = codeOf(error)
    return code === 'EACCES' || code === 'EPERM' ? describeSleep(pid, `${pid}`, true) : null
  }
}

/** Null where the thread has ended meanwhile. */
function describeSleep(pid: number, thread: string, isHidden: boolean): BlockedReader | null {
  const status = lookIntoFile(`/proc/${pid}/task/${thread}/status`, 'latin1')
  if (status === null) return null
  const count = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1] ?? ''
  return { pid, sleep: `${thread}:${count}`, isHidden }
}

/** The descriptors that a sleeping thread wants to read: `call` is a line of `/proc/<pid>/syscall`. */
function listAwaited(pid: number, call: string): number[] {
  const words = call.trim().split(' ')
  // `running`, or -1 where it sleeps outside a system call.
  const kind = waitingCalls[process.arch]?.[Number(words[0])]
  const [first = 0, second = 0] = words.slice(1).map(Number)
  switch (kind) {
    case 'read':
      return [first]
    case 'poll':
      return listPolled(readMemory(pid, first, Math.min(second, descriptorsMax) * 8))
    case 'select':
      return listSelected(readMemory(pid, second, Math.ceil(Math.min(first, descriptorsMax) / 8)))
    case 'epoll':
      return listWatched(readFileSync(`/proc/${pid}/fdinfo/${first}`, 'latin1'))
    default:
      return []
  }
}

/** `struct pollfd[]`: descriptor (32 bits), events (16), result (16). */
function listPolled(array: Buffer): number[] {
  const found: number[] = []
  for (let at = 0; at + 8 <= array.length; at += 8) {
    if (array.readInt16LE(at + 4) & readable) found.push(array.readInt32LE(at))
  }
  return found
}

/** `fd_set`: one bit for each descriptor. */
function listSelected(set: Buffer): number[] {
  const found: number[] = []
  for (const [index, byte] of set.entries()) {
    for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) found.push(index * 8 + bit)
  }
  return found
}

/** Lines such as `tfd:        0 events:       19 data: …` (hexadecimal events). */
function listWatched(fdinfo: string): number[] {
  return [...fdinfo.matchAll(/^tfd:\s*(\d+) events:\s*([0-9a-f]+)/gm)]
    .filter(([, , events]) => Number.parseInt(events ?? '', 16) & readable)
    .map(([, fd]) => Number(fd))
}

function readMemory(pid: number, address: number, length: number): Buffer {
  const bytes = Buffer.alloc(address === 0 ? 0 : length)
  if (bytes.length === 0) return bytes
  const fd = openSync(`/proc/${pid}/mem`, 'r')
  try {
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, address))
  } finally {
    closeSync(fd)
  }
}

function readLink(pid: number, fd: number): string {
  return ifThere(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''
}
