import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { nowMs, roundMs } from '../system/clock.ts'
import { limits } from '../protocol/limits.ts'
import type { StopOptions, StopReport } from '../protocol/ports.ts'
import type { Request } from '../protocol/request/request.ts'
import type { Usage } from '../protocol/result/result.ts'
import type { ControlGroup, GroupUsage, UsageSource } from '../system/process/control-group.ts'
import { markVariable } from '../system/process/own-process.ts'
import {
  ageMs,
  clockToleranceMs,
  describeProcess,
  type FileIdentity,
  hasEnvironment,
  holdsFile,
  isAlive,
  isNamespaceInit,
  isOrphan,
  listProcesses,
  maySignal,
  type ProcessEntry,
  readVariable,
  sendSignal,
} from '../system/process/process-table.ts'

/** What a run's processes are known by. */
export interface TreeRoot {
  /** The first process; it leads its own session. Null: gone, and its number may be another's. */
  pid: number | null
  /** The value of `NACRE_RUN` in its environment. */
  mark: string
  /** The control group that holds all that the run starts; null where the kernel gives none. */
  group?: ControlGroup | null
  /** More assignments (`NAME=value`) of which one in the environment marks a process of the run. */
  marks?: readonly string[]
  /**
   * The pipes it writes to: whoever holds one belongs to the run, even with another environment.
   * Asked at every look: the number of one that was closed or given back may be another's.
   */
  pipes?: () => readonly FileIdentity[]
  /** Which of the living to leave alone (the shell of a session whose command is stopped). */
  spare?: (living: readonly ProcessEntry[]) => ReadonlySet<number>
  /** `nowMs()` at the start of the run, where that was in this process. */
  startedMs?: number
}

/** How a run is ended. */
export interface StopSteps {
  /** As a person's Ctrl-C does it: INT comes first. */
  interrupt?: boolean
  /** What asks the processes to end. Default: TERM. */
  signal?: NodeJS.Signals
  /** How long the first signal may take before KILL follows. Default: 2 s. */
  graceMs?: number
}

/** The steps that a request names, for one stop of its run. */
export function chooseSteps({ signal, killAfterMs }: Request, how: StopOptions = {}): StopSteps {
  return { ...how, signal, graceMs: killAfterMs }
}

/** What the processes of a group have taken since `before`; null where the system does not tell. */
export function measureUsage(
  group: UsageSource | null,
  before: GroupUsage | null = null,
): Usage | null {
  const usage = group?.readUsage()
  if (!usage) return null
  return {
    userMs: roundMs(usage.userMs - (before?.userMs ?? 0)),
    systemMs: roundMs(usage.systemMs - (before?.systemMs ?? 0)),
    maxRssBytes: usage.peakBytes,
  }
}

/**
 * Finds the processes of a run, also those that moved to another group or session, forked twice or
 * dropped their environment. One search keeps in mind what it saw: a process once found stays found
 * when its parents are gone. A control group tells exactly; what a daemon has started for the run (a
 * container) is in another one, so that the marks are looked for as well.
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
    const members = new Set(root.group?.list() ?? [])
    let grew = true
    const isOurs = (entry: ProcessEntry): boolean =>
      entry.pid === root.pid ||
      entry.session === root.pid ||
      entry.group === root.pid ||
      entry.parent === root.pid ||
      members.has(entry.pid) ||
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
 * Asks every process of the run to end, and kills what is left after the grace. Settles when all are
 * gone, or names what KILL could not end (another user's, or stuck in the kernel). Where there is no
 * control group, what may be of the run is named too, and left alone.
 */
export async function stopTree(root: TreeRoot, steps: StopSteps = {}): Promise<StopReport> {
  const { interrupt = false, signal = 'SIGTERM', graceMs = limits.stopGraceMs } = steps
  const search = createTreeSearch(root)
  let alive = search()
  const keeper = findNamespaceKeeper(alive, root.pid)
  const asked: NodeJS.Signals[] = interrupt ? ['SIGINT', signal] : [signal]
  for (const name of asked) {
    for (const entry of alive) {
      if (entry.pid !== keeper) sendSignal(entry.pid, name)
      // A stopped process takes a signal only when it goes on.
      sendSignal(entry.pid, 'SIGCONT')
    }
    alive = await waitForEnd(alive, search, graceMs / asked.length)
  }
  const killDeadline = nowMs() + limits.killGraceMs
  while (alive.length > 0 && nowMs() < killDeadline) {
    if (!root.spare) root.group?.kill()
    // Frozen first, so that none can start another while the rest is ended.
    root.group?.freeze(true)
    for (const entry of alive) sendSignal(entry.pid, 'SIGSTOP')
    const frozen = search()
    for (const entry of frozen) sendSignal(entry.pid, 'SIGKILL')
    root.group?.freeze(false)
    alive = await waitForEnd(frozen, search, 50)
  }
  const survivors = alive.map(({ pid }) => ({ pid, command: describeProcess(pid) }))
  const notices = root.group ? [] : describePossible(root)
  return { survivors, ...(notices.length > 0 && { notices }) }
}

/**
 * The same for a run, by the steps that its request names. `giveUp` is called if its first process is still
 * alive (setuid, stuck in the kernel), so that nobody waits for its end.
 */
export async function stopRun(
  root: TreeRoot,
  request: Request,
  how: StopOptions | undefined,
  giveUp: () => void,
): Promise<StopReport> {
  const report = await stopTree(root, chooseSteps(request, how))
  if (report.survivors.some(({ pid }) => pid === root.pid)) giveUp()
  return report
}

/** A notice for each process that a run has left running. */
export function describeLeftBehind(root: TreeRoot): string[] {
  return createTreeSearch(root)().map(
    ({ pid }) => `Still running in the background: ${nameForReader(pid)}`,
  )
}

/**
 * A notice for each process that appeared during the run and belongs to nobody, and for what it has
 * started: a daemon that has dropped its environment, its parents and its streams looks the same, whoever
 * has started it.
 */
function describePossible({ startedMs, spare }: TreeRoot): string[] {
  if (startedMs === undefined) return []
  const living = listProcesses()
  const spared = spare?.(living)
  const isPossible = (entry: ProcessEntry) =>
    !entry.zombie &&
    entry.pid !== process.pid &&
    isOrphan(entry) &&
    ageMs(entry) <= nowMs() - startedMs + clockToleranceMs &&
    maySignal(entry.pid) &&
    !spared?.has(entry.pid) &&
    // A process with a mark is known to be another run's.
    readVariable(entry.pid, markVariable) === null
  const possible = new Set(living.filter(isPossible).map(({ pid }) => pid))
  // Parents come first: the numbers of processes grow, but for the moment in which they start anew.
  for (const { pid, parent } of living) if (possible.has(parent)) possible.add(pid)
  return [...possible].map((pid) => `Possibly left behind by this run: ${nameForReader(pid)}`)
}

function nameForReader(pid: number): string {
  return `${pid} ${describeProcess(pid).slice(0, 200)}`
}

/**
 * The root, where it waits for the first process of a pid namespace (a sandbox): its end would be
 * the sudden end of all in there, so it gets no signal and ends after them.
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
