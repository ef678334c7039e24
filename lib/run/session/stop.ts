import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits } from '../../protocol/limits.ts'
import type { StopReport } from '../../protocol/ports.ts'
import type { StopReason } from '../../protocol/result/result.ts'
import { nowMs, pause, settleWithin, waitUntil } from '../../system/clock.ts'
import {
  ageMs,
  clockToleranceMs,
  type ProcessEntry,
  readVariable,
  sendSignal,
} from '../../system/process/process-table.ts'
import { markVariable, sessionVariable } from '../../system/process/own-process.ts'
import { type StopSteps, stopTree } from '../stop.ts'
import type { KeptShell, LocalShell, ShellTurn } from './shell.ts'

/** After the last process of the command is gone, how long its shell may take to say so. */
const shellGraceMs = limits.stopGraceMs
/** How long a command may take to leave by itself, before its processes are ended. */
const interruptGraceMs: Partial<Record<StopReason, number>> = { cancel: limits.stopGraceMs }
const shortGraceMs = 100
/** How long what a shell hangs up may take to end, before nobody waits for it any more. */
const hangUpMs = 100

/**
 * Ends the command that a shell runs, with everything that it started, and spares the shell and
 * what earlier runs left in the background. A shell that does not come back is killed.
 */
export async function stopTurn(options: {
  shell: LocalShell
  turn: ShellTurn
  mark: string
  /** nowMs() at the start of the run. */
  startedMs: number
  steps: StopSteps
  reason: StopReason
}): Promise<StopReport> {
  const { shell, turn, mark, startedMs, steps, reason } = options
  const { group } = shell
  const findElders = createElderSearch(shell, mark, startedMs)
  const spare = (living: readonly ProcessEntry[]) => findElders(living).add(shell.pid)
  const timer = new AbortController()
  const { signal } = timer
  const over = turn.told.then(() => timer.abort())
  // First, so that the shell does not go on with the rest of the command once the present part ends.
  await shell.skipRest(signal, interruptGraceMs[reason] ?? shortGraceMs)
  // The shell may have been about to start, or to stop, when it was told: so more than once.
  let report: StopReport
  let deadlineMs = Infinity
  let pauseMs = 10
  do {
    const root = { pid: shell.pid, mark, group, pipes: () => turn.files(), spare, startedMs }
    report = await stopTree(root, steps)
    deadlineMs = Math.min(deadlineMs, nowMs() + shellGraceMs)
    await pause(pauseMs, signal)
    shell.nudge(signal.aborted)
    await pause(pauseMs, signal)
    // Timers that are due again and again would keep what the shell has said from being read.
    await nextTurn()
    pauseMs = Math.min(pauseMs * 2, 200)
  } while (!signal.aborted && nowMs() < deadlineMs && report.survivors.length === 0)
  if (!signal.aborted) {
    if (shell.alive) sendSignal(shell.pid, 'SIGKILL')
    // Also if it answers at this very moment: the next command must not meet a dying shell.
    await shell.ended
  }
  await over
  return report
}

/**
 * Ends a shell with all that it left behind. `sessionMark`: with all that the shells of its session left; a
 * `detaches` shell, a person's own, hangs up its jobs instead, as at the end of any terminal.
 */
export async function endShell(
  shell: KeptShell | null,
  { sessionMark, detaches }: { sessionMark: string | null; detaches: boolean },
): Promise<void> {
  if (shell?.pid === null) return shell.close()
  const pid = shell?.alive ? shell.pid : null
  const closed = shell?.close()
  // Its EXIT trap may take a moment.
  await settleWithin(shellGraceMs, closed)
  if (detaches) {
    if (shell?.alive) sendSignal(shell.pid, 'SIGKILL')
    await closed
    // What has heard the hang-up is gone in a moment; what is meant to stay, stays.
    return waitUntil(() => !shell?.group?.isPopulated(), { everyMs: 2, mostMs: hangUpMs })
  }
  await stopTree({
    pid,
    mark: shell?.mark ?? sessionMark ?? '',
    group: shell?.group ?? null,
    marks: sessionMark === null ? [] : [`${sessionVariable}=${sessionMark}`],
    pipes: () => shell?.files() ?? [],
  })
  await closed
}

/** How the marks of runs begin (`Request.id`). */
const runPrefix = 'run_'

/**
 * Finds processes of the session that were there before the run began, and what these start meanwhile.
 * `startedMs`: nowMs() at the start of the run.
 */
function createElderSearch(
  shell: Pick<LocalShell, 'pid' | 'group'>,
  mark: string,
  startedMs: number,
) {
  const { pid: shellPid, group } = shell
  const known = new Map<number, string>()

  function isElder(entry: ProcessEntry, members: ReadonlySet<number>): boolean {
    if (known.get(entry.pid) === entry.startTime) return true
    const isOurs = entry.session === shellPid || entry.parent === shellPid || members.has(entry.pid)
    if (!isOurs) return false
    const ran = readVariable(entry.pid, markVariable)
    if (ran?.startsWith(runPrefix)) return ran !== mark
    // A subshell, which was never started anew, has the mark of the session, and a daemon may have
    // none: only its age tells.
    return ageMs(entry) > nowMs() - startedMs + clockToleranceMs
  }

  return (living: readonly ProcessEntry[]): Set<number> => {
    const others = living.filter((entry) => entry.pid !== shellPid)
    const elders = new Set<number>()
    const members = new Set(group?.list() ?? [])
    for (const entry of others) if (isElder(entry, members)) elders.add(entry.pid)
    for (let found = -1; found < elders.size;) {
      found = elders.size
      for (const entry of others) if (elders.has(entry.parent)) elders.add(entry.pid)
    }
    for (const entry of others) if (elders.has(entry.pid)) known.set(entry.pid, entry.startTime)
    return elders
  }
}
