import { describeProcess } from './process-table.ts'
import { createTreeSearch, type TreeRoot } from './stop.ts'

/** Whether the process group that `pid` leads, or led, still has a member. */
export function isGroupAlive(pid: number | null): boolean {
  if (pid === null) return false
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

/** A notice for each process that a run has left running. */
export function describeLeftBehind(root: TreeRoot): string[] {
  return createTreeSearch(root)().map(
    ({ pid }) => `Still running in the background: ${pid} ${describeProcess(pid).slice(0, 200)}`,
  )
}
