import { promises } from 'node:fs'
import { codeOf } from '../../protocol/errors.ts'

/** A process as another one can find it again: the number alone is used anew after its end. */
export interface ProcessIdentity {
  pid: number
  /** Clock ticks after boot at which it started; null where the system does not tell (no /proc). */
  startTicks: number | null
}

/** proc(5): field 22 of /proc/<pid>/stat; the name in field 2 may hold spaces and brackets. */
async function startTicksOf(pid: number): Promise<number | null> {
  try {
    const stat = await promises.readFile(`/proc/${pid}/stat`, 'latin1')
    const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
    return Number.isSafeInteger(ticks) ? ticks : null
  } catch (error) {
    if (codeOf(error) === null) throw error
    return null
  }
}

export async function identifySelf(): Promise<ProcessIdentity> {
  return { pid: process.pid, startTicks: await startTicksOf(process.pid) }
}

/** Whether that very process still runs. Without /proc a later process of the same number passes for it. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  if (identity.startTicks !== null)
    return (await startTicksOf(identity.pid)) === identity.startTicks
  try {
    process.kill(identity.pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
