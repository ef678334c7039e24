import { listIgnored, markVariable } from '../../system/process/own-process.ts'
import { listTree, readProcess, readVariable } from '../../system/process/process-table.ts'

/**
 * What commands of a shell have left behind in it: running and suspended jobs. Each command exports a
 * mark of its own, so that what carries the shell's is the shell itself and what its start files began.
 */
export function listShellJobs(shellPid: number, shellMark: string): ShellJob[] {
  return listTree(shellPid)
    .filter((pid) => pid !== shellPid)
    .flatMap((pid) => {
      const entry = readProcess(pid)
      const mark = readVariable(pid, markVariable)
      if (!entry || entry.zombie || mark === null || mark === shellMark) return []
      // As `nohup` starts it: it is to outlive the shell.
      if (listIgnored(pid).includes('SIGHUP')) return []
      return [{ pid, mark, group: entry.group, isSuspended: entry.state === 'T' }]
    })
}

export interface ShellJob {
  pid: number
  /** The id of the run that started it. */
  mark: string
  group: number
  isSuspended: boolean
}
