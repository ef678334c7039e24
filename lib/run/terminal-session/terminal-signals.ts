import { readFileSync } from 'node:fs'
import { sendSignal } from '../../system/process/process-table.ts'

/** Interrupts whatever has the shell's terminal: its own group, or that of the program in the foreground. */
export function interrupt(shellPid: number): void {
  signalForeground(shellPid, 'SIGINT')
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

function signalForeground(pid: number, signal: NodeJS.Signals): void {
  const group = readForegroundGroup(pid)
  if (group <= 0) return
  sendSignal(-group, signal)
  // What is stopped takes it only when it goes on.
  sendSignal(-group, 'SIGCONT')
}

/**
 * The field `tpgid` of `/proc/<pid>/stat` (proc(5)); elsewhere the shell's own group. None where the process
 * does not lead a session of its own yet: the terminal is that of nacre then, and of whoever started it.
 */
function readForegroundGroup(pid: number): number {
  if (process.platform !== 'linux') return pid
  const { session, group } = readTerminal(`${pid}`)
  return session === readTerminal('self').session ? 0 : group
}

function readTerminal(pid: string): { session: number; group: number } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { session: Number(fields[3]), group: Number(fields[5]) }
  } catch {
    // It is gone.
    return { session: 0, group: 0 }
  }
}
