import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import { codeOf } from '../../protocol/errors.ts'
import type { InputKind } from '../../protocol/result/result.ts'
import { ifThere, lookAtLink, lookIntoFile } from '../../system/look.ts'
import { listTree, readProcess } from '../../system/process/process-table.ts'

/**
 * Whether a program on a terminal waits for typed input, read from the kernel: a process of the
 * terminal's foreground group sleeps in a read of the terminal, or in a poll, select or epoll on it.
 * Never guessed from what the program printed.
 *
 * `leader` leads the terminal's session; `path` is the terminal's name (`/dev/pts/0`). The function
 * that comes back takes about 0.1 ms, and one `stty` more at each new wait. Linux on x64 and arm64;
 * elsewhere the answer is always null, since only `/proc` tells.
 */
export function createTerminalWatch(leader: number, path: string): () => InputKind | null {
  const isTerminal = (link: string) => link === path || link === '/dev/tty'
  let last: { sleep: string; kind: InputKind | null } | null = null

  return () => {
    const reader = findForegroundReader(leader, isTerminal)
    if (!reader) return null
    if (last?.sleep !== reader.sleep) {
      const mode = readInputMode(path)
      // Of a process that may not be looked into (sudo), only a hidden echo tells that it waits.
      last = { sleep: reader.sleep, kind: reader.isHidden && mode !== 'password' ? null : mode }
    }
    return last.kind
  }
}

/**
 * Whether a process of the tree under `root` sleeps in a read of the pipe (or FIFO, or socket) that is
 * the standard input of `root`. Linux only; elsewhere false.
 */
export function waitsForPipeInput(root: number): boolean {
  const input = lookAtLink(`/proc/${root}/fd/0`)
  if (input === null) return false
  return listTree(root).some((pid) => {
    const reader = findBlockedReader(pid, (link) => link === input)
    return reader !== null && !reader.isHidden
  })
}

function findForegroundReader(
  leader: number,
  isTerminal: (link: string) => boolean,
): BlockedReader | null {
  const foreground = readProcess(leader)?.foreground
  if (foreground === undefined) return null
  let hidden: BlockedReader | null = null
  // The group's leader need not descend from the session's any more.
  for (const pid of new Set([foreground, ...listTree(leader)])) {
    const stat = readProcess(pid)
    if (stat?.group !== foreground || stat.state !== 'S') continue
    const reader = findBlockedReader(pid, isTerminal)
    if (reader && !reader.isHidden) return reader
    hidden ??= reader
  }
  return hidden
}

/**
 * How a terminal takes input now, asked of stty(1), since Node has no tcgetattr(3). Takes some
 * milliseconds. A terminal of which stty tells nothing counts as one that takes lines.
 */
function readInputMode(path: string): InputKind {
  const { stdout } = spawnSync('stty', ['-a', '-F', path], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', PATH: '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin' },
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 2000,
  })
  return parseInputMode(stdout ?? '')
}

/** Reads the answer of `stty -a`: `-` before a mode says that it is off. */
export function parseInputMode(text: string): InputKind {
  const modes = new Set(text.split(/[\s;]+/))
  if (modes.has('-icanon')) return 'raw'
  return modes.has('-echo') ? 'password' : 'line'
}

/** A thread that sleeps in the kernel until one of its files can be read. */
interface BlockedReader {
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
function findBlockedReader(pid: number, isInput: (link: string) => boolean): BlockedReader | null {
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
  return { sleep: `${thread}:${count}`, isHidden }
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
