import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { codeOf } from '../../protocol/errors.ts'
import { lookAtLink, lookIntoFile, lookIntoFolder } from '../look.ts'

/** One line of the system's process table. */
export interface ProcessEntry {
  pid: number
  parent: number
  group: number
  session: number
  /** The process group that the process's terminal listens to; -1 where it has none or that is not known. */
  foreground: number
  /** One letter: `R` runs, `S` sleeps, `D` waits for a device, `T` is stopped, `Z` has ended (proc(5)). */
  state: string
  /**
   * The time of its start, on Linux in clock ticks since boot. There it names, together with the pid, one
   * process for good.
   */
  startTime: string
  zombie: boolean
}

/** Every process of the machine, read from `/proc` (proc(5)), elsewhere from ps(1). */
export function listProcesses(): ProcessEntry[] {
  return process.platform === 'linux' ? listFromProc() : listFromPs()
}

function listFromProc(): ProcessEntry[] {
  const entries: ProcessEntry[] = []
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const entry = readProcess(pid)
    if (entry) entries.push(entry)
  }
  return entries
}

/** One process, or null when it is gone. */
export function readProcess(pid: number): ProcessEntry | null {
  if (process.platform !== 'linux') return listFromPs(['-p', String(pid)])[0] ?? null
  const fields = readStat(pid)
  return (
    fields && {
      pid,
      parent: Number(fields[1]),
      group: Number(fields[2]),
      session: Number(fields[3]),
      foreground: Number(fields[5]),
      state: fields[0] ?? '',
      startTime: fields[19] ?? '',
      zombie: fields[0] === 'Z' || fields[0] === 'X',
    }
  )
}

function listFromPs(which: readonly string[] = ['-A']): ProcessEntry[] {
  const columns = 'pid=,ppid=,pgid=,stat=,lstart='
  const { stdout } = spawnSync('ps', [...which, '-o', columns], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length > 4)
    .map(([pid, parent, group, state, ...start]) => ({
      pid: Number(pid),
      parent: Number(parent),
      group: Number(group),
      // ps of macOS does not tell the session; the group of a session's leader stands for it.
      session: Number(group),
      foreground: -1,
      state: state?.[0] ?? '',
      startTime: start.join(' '),
      zombie: state?.startsWith('Z') ?? false,
    }))
}

/** A process as another one finds it again: the number alone is given anew after its end. */
export interface ProcessIdentity {
  pid: number
  /** The time at which it started, as the process table has it. */
  startTime: string
  /**
   * The number of the start of the machine in which it ran; empty where the system does not tell it (no
   * /proc).
   */
  boot: string
}

/** The process of this number, or null when it is gone. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const entry = readProcess(pid)
  return entry && { pid, startTime: entry.startTime, boot: readBoot() }
}

/** The identity of this process. */
export function identifySelf(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startTime: '', boot: '' }
}

/**
 * Whether that very process still runs; without `boot`, of this start of the machine. A process that
 * has ended and that nobody has waited for yet (a zombie) does not run.
 */
export function isAlive({
  pid,
  startTime,
  boot,
}: Omit<ProcessIdentity, 'boot'> & { boot?: string }): boolean {
  if (boot !== undefined && boot !== readBoot()) return false
  const entry = readProcess(pid)
  return entry !== null && !entry.zombie && entry.startTime === startTime
}

/** Whether a process of this number runs now, whichever that is. */
export function isRunning(pid: number): boolean {
  const entry = readProcess(pid)
  return entry !== null && !entry.zombie
}

/** The number of this start of the machine (random(4)). */
function readBoot(): string {
  return lookIntoFile('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
}

/**
 * A name that no two processes of one start of the machine share: `<pid>:<start time>`. It is empty
 * for a process that is gone.
 */
export function nameProcess(pid: number): string {
  const entry = readProcess(pid)
  return entry ? `${pid}:${entry.startTime}` : ''
}

/** The number of the pid namespace that this process is in; 0 where there are none. */
export function readPidNamespace(): string {
  return /\d+/.exec(lookAtLink('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}

/** A process and all that descend from it, parents first (`/proc/<pid>/task/<tid>/children`). Linux only. */
export function listTree(root: number): number[] {
  const found = [root]
  for (const pid of found) {
    for (const thread of lookIntoFolder(`/proc/${pid}/task`)) {
      const children = readProc(pid, `task/${thread}/children`) ?? ''
      found.push(...children.split(' ').filter(Boolean).map(Number))
    }
  }
  return found
}

/** For programs every Linux counts 100 ticks a second (proc(5)). */
const tickMs = 10

/** By how much the age of a process may be wrong: one tick of the clock that dates it, and a little. */
export const clockToleranceMs = process.platform === 'linux' ? 15 : 1500

/** How long ago a process was started. */
export function ageMs({ startTime }: ProcessEntry): number {
  if (process.platform !== 'linux') return Date.now() - Date.parse(startTime)
  const uptimeSeconds = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0])
  return uptimeSeconds * 1000 - Number(startTime) * tickMs
}

/** The fields of `/proc/<pid>/stat` behind the name, which stands in brackets and may hold anything. */
function readStat(pid: number): string[] | null {
  const stat = readProc(pid, 'stat')
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Whether we may send it a signal: it is this user's. */
export function maySignal(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The name of a signal by its number; null: there is none. */
export function nameSignal(number: number): string | null {
  const found = Object.entries(constants.signals).find(([, value]) => value === number)
  return found?.[0] ?? null
}

/** Sends a signal; a process that is gone already, or another user's, gets none. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

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

/** A file of a process in `/proc`; null where it is gone, or another user's. */
export function readProc(pid: number, file: string): string | null {
  return lookIntoFile(`/proc/${pid}/${file}`, 'latin1')
}
