import { readFileSync } from 'node:fs'
import { readProcess } from '../../run/process-table.ts'

/** A process as another one finds it again: the number alone is given anew after its end. */
export interface ProcessIdentity {
  pid: number
  /** When it started, as the process table has it. */
  startTime: string
  /** Which start of the machine that was; empty where the system does not tell (no /proc). */
  boot: string
}

/** The process of this number, or null when it is gone. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const entry = readProcess(pid)
  return entry && { pid, startTime: entry.startTime, boot: readBoot() }
}

/** Whether that very process still runs. One that nobody has waited for yet (a zombie) does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.boot !== readBoot()) return false
  const entry = readProcess(identity.pid)
  return entry !== null && !entry.zombie && entry.startTime === identity.startTime
}

/** random(4): a number of this start of the machine. */
function readBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return ''
  }
}
