import { setImmediate as nextTurn } from 'node:timers/promises'
import { nowMs, pause, settleWithin } from '../../system/clock.ts'
import { limits } from '../../protocol/limits.ts'
import type { StopReport } from '../../protocol/ports.ts'
import {
  ageMs,
  clockToleranceMs,
  type ProcessEntry,
  readVariable,
  sendSignal,
} from '../../system/process/process-table.ts'
import type { SessionDialect } from './dialect.ts'
import type { SessionShell } from './shell.ts'
import { type StopSteps, stopTree, type TreeRoot } from '../stop.ts'
import { markVariable, sessionVariable } from '../../system/process/own-process.ts'

/** After the last process of the command is gone, how long its shell may take to say so. */
const shellGraceMs = limits.stopGraceMs

/**
 * Ends the command that a session runs, with everything that it started, and spares the shell and
 * what earlier runs left in the background. A shell that does not come back is killed.
 */
export async function stopTurn(options: {
  shell: SessionShell
  dialect: SessionDialect
  mark: string
  /** nowMs() at the start of the run. */
  startedMs: number
  pipes: NonNullable<TreeRoot['pipes']>
  ended: Promise<unknown>
  steps: StopSteps
}): Promise<StopReport> {
  const { shell, dialect, mark, startedMs, pipes, ended, steps } = options
  const { group } = shell
  const findElders = createElderSearch(shell, mark, startedMs)
  const spare = (living: readonly ProcessEntry[]) => {
    const spared = new Set(findElders(living))
    if (dialect.survivesStop) spared.add(shell.pid)
    return spared
  }
  // First, so that the shell does not go on with the rest of the command once the present part ends.
  signal(shell, 'SIGURG')
  const timer = new AbortController()
  const over = ended.then(() => timer.abort())
  // The shell may have been about to start, or to stop, when it was told: so more than once.
  let report: StopReport
  let deadlineMs = Infinity
  let pauseMs = 10
  do {
    signal(shell, 'SIGCONT')
    report = await stopTree({ pid: shell.pid, mark, group, pipes, spare, startedMs }, steps)
    signal(shell, 'SIGCONT')
    deadlineMs = Math.min(deadlineMs, nowMs() + shellGraceMs)
    await pause(pauseMs, timer.signal)
    // Timers that are due again and again would keep what the shell has said from being read.
    await nextTurn()
    pauseMs = Math.min(pauseMs * 2, 200)
  } while (!timer.signal.aborted && nowMs() < deadlineMs && report.survivors.length === 0)
  if (!timer.signal.aborted) {
    signal(shell, 'SIGKILL')
    // Also where it answers at this very moment: the next command must not meet a dying shell.
    await shell.close()
  }
  await over
  return report
}

/** No process has this number: only marks find what a lost shell left behind. */
const noProcess = -1

/** Ends a session's shell and all that it left behind. */
export async function stopSession(shell: SessionShell | null, sessionMark: string): Promise<void> {
  const closed = shell?.close()
  // Its EXIT trap may take a moment.
  await settleWithin(shellGraceMs, closed)
  await stopTree({
    pid: shell?.pid ?? noProcess,
    mark: sessionMark,
    group: shell?.group ?? null,
    marks: [`${sessionVariable}=${sessionMark}`],
  })
  await closed
}

/** How the marks of runs begin (`Request.id`). */
const runPrefix = 'run_'

/**
 * Finds processes of the session that were there before the run began, and what these start meanwhile.
 * `startedMs`: nowMs() at the start of the run.
 */
export function createElderSearch(
  shell: Pick<SessionShell, 'pid' | 'group'>,
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

  return (living: readonly ProcessEntry[]): ReadonlySet<number> => {
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

function signal(shell: SessionShell, name: NodeJS.Signals): void {
  if (shell.alive) sendSignal(shell.pid, name)
}
