import { existsSync, readFileSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import { nowMs } from '../../system/clock.ts'
import { describeProcess } from '../../system/process/process-details.ts'
import { isRunning, listProcesses, sendSignal } from '../../system/process/process-table.ts'

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

/** So many looks, a few milliseconds, are left to what ends with its command (`tee` at its pipe). */
const looksForEnd = 10

/**
 * Settles when the pid namespace of a run is empty. bwrap exits with the command; the first process of the
 * namespace goes on until the others in there have ended, and they are killed with it. Gives a notice if
 * there were any.
 */
export async function emptyNamespace(file: string): Promise<string[]> {
  const initPid = readStatus(file)?.initPid ?? null
  if (initPid === null) return []
  const ended: string[] = []
  const deadline = nowMs() + endMs
  for (let looks = 0; isRunning(initPid) && nowMs() < deadline; looks++) {
    if (looks === looksForEnd) {
      const left = listProcesses().filter(({ parent, zombie }) => parent === initPid && !zombie)
      ended.push(...left.map(({ pid }) => describeProcess(pid).slice(0, 200)))
      sendSignal(initPid, 'SIGKILL')
    }
    await (looks < 5 ? nextTurn() : delay(1))
  }
  if (ended.length === 0) return []
  return [
    `Still running in the background, so it ended with the sandbox of this run: ${ended.join(', ')}. To keep a process running, start it as a job or in a session`,
  ]
}
