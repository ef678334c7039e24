import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { StopReport } from '../../protocol/ports.ts'
import { listProcesses, type ProcessEntry, readVariable } from '../process-table.ts'
import type { SessionDialect } from './session-dialect.ts'
import type { SessionShell } from './session-shell.ts'
import { markVariable, stopTree } from '../stop.ts'

/** The variable by which whatever a session ever started is found again. */
export const sessionVariable = 'NACRE_SESSION'

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
  /** performance.now() at the start of the run. */
  startedMs: number
  pipes: readonly { dev: number; ino: number }[]
  ended: Promise<unknown>
}): Promise<StopReport> {
  const { shell, dialect, mark, startedMs, pipes, ended } = options
  const spare = findElders(shell.pid, mark, performance.now() - startedMs)
  if (dialect.survivesStop) spare.add(shell.pid)
  // First, so that the shell does not go on with the rest of the command once the present part ends.
  signal(shell, 'SIGURG')
  signal(shell, 'SIGCONT')
  const report = await stopTree({ pid: shell.pid, mark, pipes, spare })
  const timer = new AbortController()
  const late = delay(shellGraceMs, 'late', { signal: timer.signal }).catch(() => undefined)
  if ((await Promise.race([ended, late])) === 'late') signal(shell, 'SIGKILL')
  timer.abort()
  return report
}

/** No process has this number: only marks find what a lost shell left behind. */
const noProcess = -1

/** Ends a session's shell and all that it left behind. */
export async function stopSession(
  shell: SessionShell | null,
  sessionMark: string,
): Promise<StopReport> {
  const closed = shell?.close()
  const timer = new AbortController()
  // Its EXIT trap may take a moment.
  await Promise.race([
    closed,
    delay(shellGraceMs, null, { signal: timer.signal }).catch(() => null),
  ])
  timer.abort()
  const report = await stopTree({
    pid: shell?.pid ?? noProcess,
    mark: sessionMark,
    marks: [`${sessionVariable}=${sessionMark}`],
  })
  await closed
  return report
}

/** How the marks of runs begin (`Request.id`). */
const runPrefix = 'run_'

/** Processes of the session that were there before the run began. */
function findElders(shellPid: number, mark: string, runMs: number): Set<number> {
  const all = listProcesses()
  const elders = new Set<number>()
  for (const entry of all) {
    if (entry.session !== shellPid && entry.parent !== shellPid) continue
    const known = readVariable(entry.pid, markVariable)
    // A subshell, which was never started anew, has the mark of the session: only its age tells.
    const older =
      known?.startsWith(runPrefix) === true
        ? known !== mark
        : ageMs(entry) > runMs + clockToleranceMs
    if (older) elders.add(entry.pid)
  }
  let grew = true
  while (grew) {
    grew = false
    for (const entry of all) {
      if (elders.has(entry.pid) || !elders.has(entry.parent) || entry.parent === shellPid) continue
      elders.add(entry.pid)
      grew = true
    }
  }
  elders.delete(shellPid)
  return elders
}

/** One tick of the clock by which Linux dates processes, and a little. */
const clockToleranceMs = process.platform === 'linux' ? 15 : 1500

function ageMs(entry: ProcessEntry): number {
  if (process.platform !== 'linux') return Date.now() - Date.parse(entry.startTime)
  const uptimeSeconds = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
  return uptimeSeconds * 1000 - Number(entry.startTime) * 10
}

function signal(shell: SessionShell, name: NodeJS.Signals): void {
  try {
    if (shell.alive) process.kill(shell.pid, name)
  } catch (error) {
    // In a sandbox it is gone before the process around it.
    if (codeOf(error) !== 'ESRCH') throw error
  }
}
