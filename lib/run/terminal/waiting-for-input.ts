import { lookAtLink } from '../../system/look.ts'
import { listTree, readProcess } from '../../system/process/process-table.ts'
import { type BlockedReader, findBlockedReader } from './blocked-reader.ts'
import type { InputKind } from '../../protocol/result/result.ts'
import { readInputMode } from './terminal-mode.ts'

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
