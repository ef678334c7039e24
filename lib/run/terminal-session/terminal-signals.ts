import { readProcess, sendSignal } from '../../system/process/process-table.ts'

/** Interrupts whatever has the shell's terminal: its own group, or that of the program in the foreground. */
export function interrupt(shellPid: number): void {
  signalForeground(shellPid, 'SIGINT')
}

/** Tells the editor that the size of its terminal may have changed, which ends its wait for keys and no more. */
export function wakeEditor(shellPid: number): void {
  signalForeground(shellPid, 'SIGWINCH')
}

/**
 * Signals as the kernel does when a terminal is hung up: the process that leads the session, which is not
 * the shell where a sandbox stands before it, and the group in the foreground.
 */
export function hangUp(leaderPid: number): void {
  signalForeground(leaderPid, 'SIGHUP')
  sendSignal(leaderPid, 'SIGHUP')
  sendSignal(leaderPid, 'SIGCONT')
}

/** Whether no program of the shell's has its terminal, but the shell itself. */
export function hasTerminal(shellPid: number): boolean {
  return readForegroundGroup(shellPid) === shellPid
}

function signalForeground(pid: number, signal: NodeJS.Signals): void {
  const group = readForegroundGroup(pid)
  if (group <= 0) return
  sendSignal(-group, signal)
  // What is stopped takes it only when it goes on.
  sendSignal(-group, 'SIGCONT')
}

/**
 * The group that the terminal of a process listens to; where the system does not tell, its own. None where the
 * process does not lead a session of its own yet: the terminal is that of nacre then, and of whoever started it.
 */
function readForegroundGroup(pid: number): number {
  if (process.platform !== 'linux') return pid
  const entry = readProcess(pid)
  return !entry || entry.session === readProcess(process.pid)?.session ? 0 : entry.foreground
}
