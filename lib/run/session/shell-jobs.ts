import { listIgnored, markVariable } from '../../system/process/own-process.ts'
import {
  listTree,
  readProcess,
  readVariable,
  sendSignal,
} from '../../system/process/process-table.ts'

/** A process group that a command has left behind in its shell. */
export interface ShellJob {
  pid: number
  group: number
  /** The id of the run that started it. */
  run: string
  isSuspended: boolean
}

/**
 * What commands of a shell have left behind in it. Each command exports a mark of its own, so that what carries the
 * shell's is the shell itself and what its start files began.
 */
export function listShellJobs(shellPid: number, shellMark: string): ShellJob[] {
  const jobs = new Map<number, ShellJob>()
  for (const pid of listTree(shellPid)) {
    const entry = pid === shellPid ? null : readProcess(pid)
    const run = readVariable(pid, markVariable)
    if (!entry || entry.zombie || run === null || run === shellMark) continue
    // As `nohup` starts it: it is to outlive the shell.
    if (listIgnored(pid).includes('SIGHUP')) continue
    jobs.set(entry.group, { pid, run, group: entry.group, isSuspended: entry.state === 'T' })
  }
  return [...jobs.values()]
}

/** Signals whatever has the shell's terminal: its own group, or that of the program in the foreground. */
export function signalForeground(shellPid: number, signal: NodeJS.Signals): void {
  const group = readForegroundGroup(shellPid)
  if (group <= 0) return
  sendSignal(-group, signal)
  // What is stopped takes it only when it goes on.
  sendSignal(-group, 'SIGCONT')
}

/**
 * The group that the terminal of a process listens to; if the system does not tell, its own. None if the
 * process does not lead a session of its own yet: the terminal is that of nacre then, and of whoever started it.
 */
export function readForegroundGroup(pid: number): number {
  if (process.platform !== 'linux') return pid
  const entry = readProcess(pid)
  return !entry || entry.session === readProcess(process.pid)?.session ? 0 : entry.foreground
}
