import { existsSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'
import { isRunning } from '../../system/process/process-table.ts'

/** What bwrap has told of a run (`--json-status-fd`). */
export interface SandboxStatus {
  /** The first process inside, as it is numbered outside. */
  initPid: number | null
  /** Told only of a command that was really started. */
  exitCode: number | null
}

/** Null if the file is gone: whoever clears the state folder may remove it while the run goes on. */
export function readStatus(file: string): SandboxStatus | null {
  if (!existsSync(file)) return null
  const text = readFileSync(file, 'utf8')
  const find = (name: string) => {
    const value = new RegExp(`"${name}": (\\d+)`).exec(text)?.[1]
    return value === undefined ? null : Number(value)
  }
  return { initPid: find('child-pid'), exitCode: find('exit-code') }
}

/** The kernel ends a whole pid namespace within this time, or something hangs in it. */
const endMs = 2000

/**
 * Settles when the pid namespace of a run is empty. bwrap exits with the command; the kernel kills
 * what is left inside a moment later, and the first process there is the last to go.
 */
export async function awaitEmptyNamespace(file: string): Promise<void> {
  const initPid = readStatus(file)?.initPid ?? null
  if (initPid === null) return
  const deadline = nowMs() + endMs
  for (let looks = 0; isRunning(initPid) && nowMs() < deadline; looks++) {
    await (looks < 5 ? nextTurn() : delay(1))
  }
}
