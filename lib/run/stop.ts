import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../system/clock.ts'
import { limits } from '../protocol/limits.ts'
import type { StopReport } from '../protocol/ports.ts'
import {
  describeProcess,
  type FileIdentity,
  hasEnvironment,
  holdsFile,
  isAlive,
  isNamespaceInit,
  listProcesses,
  type ProcessEntry,
  sendSignal,
} from '../system/process-table.ts'

/** The name of the variable that marks every process of a run. */
export const markVariable = 'NACRE_RUN'
/** Names the nacre that has started the run, so that others can tell whether it still lives. */
export const ownerVariable = 'NACRE_OWNER'

/** By what a run's processes are known. */
export interface TreeRoot {
  /** The first process; it leads its own session. Null: gone, and its number may be another's. */
  pid: number | null
  /** The value of `NACRE_RUN` in its environment. */
  mark: string
  /** More assignments (`NAME=value`) of which one in the environment marks a process of the run. */
  marks?: readonly string[]
  /**
   * The pipes it writes to: whoever holds one belongs to the run, even with another environment.
   * Asked at every look: the number of one that was closed or given back may be another's.
   */
  pipes?: () => readonly FileIdentity[]
  /** Which of the living to leave alone (the shell of a session whose command is stopped). */
  spare?: (living: readonly ProcessEntry[]) => ReadonlySet<number>
}

/**
 * Finds the processes of a run, also those that moved to another group or session, forked twice or
 * dropped their environment. One search keeps in mind what it saw: a process once found stays found
 * when its parents are gone.
 */
export function createTreeSearch(root: TreeRoot): () => ProcessEntry[] {
  const known = new Map<number, string>()

  function isMarked(entry: ProcessEntry, pipes: readonly FileIdentity[]): boolean {
    return (
      hasEnvironment(entry.pid, `${markVariable}=${root.mark}`) ||
      (root.marks?.some((mark) => hasEnvironment(entry.pid, mark)) ?? false) ||
      pipes.some((pipe) => holdsFile(entry.pid, pipe))
    )
  }

  return () => {
    const living = listProcesses().filter((entry) => !entry.zombie && entry.pid !== process.pid)
    const found = new Map<number, ProcessEntry>()
    const pipes = root.pipes?.() ?? []
    let grew = true
    const isOurs = (entry: ProcessEntry): boolean =>
      entry.pid === root.pid ||
      entry.session === root.pid ||
      entry.group === root.pid ||
      entry.parent === root.pid ||
      found.has(entry.parent) ||
      known.get(entry.pid) === entry.startTime
    for (const entry of living) {
      if (isOurs(entry) || isMarked(entry, pipes)) found.set(entry.pid, entry)
    }
    while (grew) {
      grew = false
      for (const entry of living) {
        if (found.has(entry.pid) || !found.has(entry.parent)) continue
        found.set(entry.pid, entry)
        grew = true
      }
    }
    for (const entry of found.values()) known.set(entry.pid, entry.startTime)
    const spared = root.spare?.(living)
    return [...found.values()].filter((entry) => !spared?.has(entry.pid))
  }
}

/**
 * TERM to every process of the run, KILL to what is left after `graceMs`. Settles when all are gone,
 * or names what KILL could not end (another user's, or stuck in the kernel).
 */
export async function stopTree(
  root: TreeRoot,
  { graceMs = limits.stopGraceMs }: { graceMs?: number } = {},
): Promise<StopReport> {
  const search = createTreeSearch(root)
  let alive = search()
  const keeper = findNamespaceKeeper(alive, root.pid)
  for (const entry of alive) {
    if (entry.pid !== keeper) sendSignal(entry.pid, 'SIGTERM')
    // A stopped process takes TERM only when it goes on.
    sendSignal(entry.pid, 'SIGCONT')
  }
  alive = await waitForEnd(alive, search, graceMs)
  const killDeadline = nowMs() + limits.killGraceMs
  while (alive.length > 0 && nowMs() < killDeadline) {
    // Frozen first, so that none can start another while the rest is ended.
    for (const entry of alive) sendSignal(entry.pid, 'SIGSTOP')
    const frozen = search()
    for (const entry of frozen) sendSignal(entry.pid, 'SIGKILL')
    alive = await waitForEnd(frozen, search, 50)
  }
  return {
    survivors: alive.map((entry) => ({ pid: entry.pid, command: describeProcess(entry.pid) })),
  }
}

/**
 * The root, where it waits for the first process of a pid namespace (a sandbox): its end would be
 * the sudden end of all in there, so it gets no TERM and ends after them.
 */
function findNamespaceKeeper(entries: readonly ProcessEntry[], root: number | null): number | null {
  const keeps = entries.some(({ pid, parent }) => parent === root && isNamespaceInit(pid))
  return keeps ? root : null
}

/** Waits until none is left. A whole search is dear, so it is made only when those known are gone. */
async function waitForEnd(
  watched: ProcessEntry[],
  search: () => ProcessEntry[],
  timeoutMs: number,
): Promise<ProcessEntry[]> {
  const deadline = nowMs() + timeoutMs
  let pauseMs = 1
  for (;;) {
    const late = nowMs() >= deadline
    if (late || !watched.some(isAlive)) {
      watched = search()
      if (late || watched.length === 0) return watched
    }
    await delay(pauseMs)
    // Searches of several runs take so long that their timers alone would fill the event loop.
    await nextTurn()
    pauseMs = Math.min(20, pauseMs * 2)
  }
}
