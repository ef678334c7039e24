import { describeProcess } from '../system/process-table.ts'
import { createTreeSearch, type TreeRoot } from './stop.ts'

/** A notice for each process that a run has left running. */
export function describeLeftBehind(root: TreeRoot): string[] {
  return createTreeSearch(root)().map(
    ({ pid }) => `Still running in the background: ${pid} ${describeProcess(pid).slice(0, 200)}`,
  )
}
